#!/usr/bin/env python3
"""An example that prints the ids of each line gives the reference's (tests/cli/expected.jsonl), and says what is wrong.

  lines_test.py build/release/bin/example_encode_lines     any command, which gets the model as its last argument
"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Lines again and again, so that those that read in batches read more than one, the last one not full.
TIMES = 150


def expected_rows():
    with open(os.path.join(ROOT, "tests", "cli", "expected.jsonl"), encoding="utf-8") as f:
        for row in map(json.loads, f):
            request = row.get("request", {})
            if row["model"] == "tiny" and set(request) == {"text"} and not set(request["text"]) & set("\n\0"):
                yield request["text"], row["ids"]


def main():
    command = sys.argv[1:]
    rows = list(expected_rows()) * TIMES
    done = subprocess.run([*command, os.path.join(ROOT, "tests", "cli", "tiny.json")], capture_output=True, timeout=60,
                          input="".join(text + "\n" for text, _ in rows).encode())
    got = done.stdout.decode().split("\n")[:-1]
    want = [" ".join(map(str, ids)) for _, ids in rows]
    if done.returncode != 0 or got != want or len(rows) < 10 * TIMES:
        wrong = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        sys.exit(f"lines_test: status {done.returncode} {done.stderr}, {len(got)} lines, expected {len(want)}; line {wrong}: "
                 f"{got[wrong:wrong + 1]}, expected {want[wrong:wrong + 1]}")
    none = subprocess.run([*command, "nowhere.json"], capture_output=True, timeout=60)
    if none.returncode != 1 or b"nowhere.json: " not in none.stderr:
        sys.exit(f"lines_test: status {none.returncode} {none.stderr} of a file that is not there, expected 1 and its name")
    print(f"lines_test: {len(rows)} texts")


if __name__ == "__main__":
    main()
