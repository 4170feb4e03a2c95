#!/usr/bin/env python3
"""tools/examples/encode_lines.c gives the reference's ids (tests/cli/expected.jsonl), and says what is wrong.

  example_test.py --program build/release/bin/example_encode_lines
"""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def expected_rows():
    with open(os.path.join(ROOT, "tests", "cli", "expected.jsonl"), encoding="utf-8") as f:
        for row in map(json.loads, f):
            request = row.get("request", {})
            if row["model"] == "tiny" and set(request) == {"text"} and not set(request["text"]) & set("\n\0"):
                yield request["text"], row["ids"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    rows = list(expected_rows())
    done = subprocess.run([program, os.path.join(ROOT, "tests", "cli", "tiny.json")], capture_output=True, timeout=60,
                          input="".join(text + "\n" for text, _ in rows).encode())
    want = [" ".join(map(str, ids)) for _, ids in rows]
    if done.returncode != 0 or done.stdout.decode().split("\n")[:-1] != want or len(rows) < 10:
        sys.exit(f"example_test: status {done.returncode} {done.stderr}, {done.stdout}, expected {want}")
    none = subprocess.run([program, "nowhere.json"], capture_output=True, timeout=60)
    if none.returncode != 1 or b"nowhere.json: " not in none.stderr:
        sys.exit(f"example_test: status {none.returncode} {none.stderr} of a file that is not there, expected 1 and its name")
    print(f"example_test: {len(rows)} texts")


if __name__ == "__main__":
    main()
