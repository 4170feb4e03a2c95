#!/usr/bin/env python3
"""The golden and case files through the command: `trellis encode --jsonl --json` and `trellis decode --json`.

  cli_golden.py --trellis build/release/bin/trellis [--model models/multilingual-e5-small]

Also the files that TRELLIS_CASES names; says loudly when it is not set. Expected values are the reference's, from the
files; character offsets follow from byte offsets.
"""
import argparse
import base64
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHOWN = 10
STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}


def read_rows(path):
    with open(path, "rb") as f:
        rows = [json.loads(line) for line in f]
    return [row for row in rows if "name" in row]


def text_of(row):
    """The caller's bytes."""
    return base64.b64decode(row["text_base64"]) if "text_base64" in row else row["text"].encode()


def supported(row):
    options = row.get("options", {})
    if set(options) - {"add_special_tokens", "truncation"}:
        return False
    return not ("expect_error" in row and options.get("truncation", {}).get("stride"))


def request(row):
    options = row.get("options", {})
    out = {key: row[key] for key in ("text", "text_base64", "pair") if key in row}
    out["add_special_tokens"] = options.get("add_special_tokens", False)
    if truncation := options.get("truncation"):
        out["max_length"] = truncation["max_length"]
        out["truncation"] = STRATEGIES[truncation["strategy"]]
        out["truncation_side"] = truncation["direction"].lower()
    return json.dumps(out).encode() + b"\n"


def replaced_offsets(data, offsets):
    """Offsets in the text with U+FFFD for each ill-formed part, as offsets in `data` itself."""
    back, at = {0: 0}, 0
    replaced = 0
    while at < len(data):
        try:
            good, bad = len(data[at:].decode().encode()), 0
        except UnicodeDecodeError as error:
            good, bad = error.start, error.end - error.start
        for i in range(good + 1):
            back[replaced + i] = at + i
        replaced, at = replaced + good, at + good
        if bad:
            replaced, at = replaced + 3, at + bad
            back[replaced] = at
    return [[back[begin], back[end]] for begin, end in offsets]


def expected(row):
    """The reference's fields under the names that --json prints, or None where there is nothing to encode."""
    if "ids_if_replaced" in row:
        offsets = replaced_offsets(text_of(row), row["byte_offsets_if_replaced_in_replaced_text"])
        ids = row["ids_if_replaced"]
    elif "ids" in row:
        ids, offsets = row["ids"], row["byte_offsets"]
    else:
        return None
    zeros = [0] * len(ids)
    return {"ids": ids, "offsets": offsets, "type_ids": row.get("type_ids", zeros),
            "special_tokens_mask": row.get("special_tokens_mask", zeros)}


class Command:
    def __init__(self, trellis, model):
        self.trellis, self.model, self.failures, self.checks = trellis, model, 0, 0

    def run(self, verb, options, stdin):
        return subprocess.run([self.trellis, verb, self.model, *options], input=stdin, capture_output=True)

    def lines(self, verb, options, stdin):
        done = self.run(verb, options, stdin)
        if done.returncode != 0:
            sys.exit(f"trellis {verb} {' '.join(options)}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
        return [json.loads(line) for line in done.stdout.split(b"\n")[:-1]]

    def expect(self, name, got, want):
        self.checks += 1
        if got != want:
            self.failures += 1
            if self.failures <= SHOWN:
                print(f"{name}:\n  got  {str(got)[:400]}\n  want {str(want)[:400]}")

    def check_encoding(self, rows):
        rows = [row for row in rows if expected(row) is not None]
        stdin = b"".join(map(request, rows))
        got = self.lines("encode", ["--jsonl", "--json"], stdin)
        self.expect("number of lines", len(got), len(rows))
        for row, line in zip(rows, got):
            for field, want in expected(row).items():
                self.expect(f"{row['name']} {field}", line.get(field), want)
        if got != self.lines("encode", ["--jsonl", "--json", "--threads", "2"], stdin):
            self.expect("--threads 2", "another output", "the same as with one thread")
        ids = self.run("encode", ["--jsonl"], stdin).stdout.decode().split("\n")[:-1]
        self.expect("ids without --json", ids, [" ".join(map(str, line["ids"])) for line in got])

    def check_character_offsets(self, rows):
        rows = [row for row in rows if "ids" in row and "text" in row and "pair" not in row]
        got = self.lines("encode", ["--jsonl", "--json", "--char-offsets"], b"".join(map(request, rows)))
        for row, line in zip(rows, got):
            data = row["text"].encode()
            want = [[len(data[:begin].decode()), len(data[:end].decode())] for begin, end in row["byte_offsets"]]
            self.expect(f"{row['name']} --char-offsets", line["offsets"], want)

    def check_errors(self, rows):
        """One process each: a bad line ends the command. A few are enough; the library's test has them all."""
        rows = [row for row in rows if "expect_error" in row and "ids_if_replaced" not in row]
        for row in rows[::len(rows) // 4 + 1]:
            done = self.run("encode", ["--jsonl", "--json", "--plain"], request(row))
            self.expect(f"{row['name']} status ({row['expect_error']})", done.returncode, 1)
            self.expect(f"{row['name']} stdout", done.stdout, b"")
            self.expect(f"{row['name']} has a message", bool(done.stderr.strip()), True)

    def check_decoding(self, rows):
        for field, options in (("decoded", ["--keep-special-tokens"]), ("decoded_skip_special", [])):
            self.check_decoded_field([(row, row.get("decode_ids", row.get("ids"))) for row in rows if field in row], field, options)

    def check_decoded_field(self, rows, field, options):
        for form in ("blanks", "array"):
            stdin = "".join((json.dumps(ids) if form == "array" else " ".join(map(str, ids))) + "\n" for _, ids in rows)
            got = self.lines("decode", ["--json", *options], stdin.encode())
            self.expect(f"number of decoded lines ({form})", len(got), len(rows))
            for (row, _), text in zip(rows, got):
                self.expect(f"{row['name']} {field} ({form})", text, row[field])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trellis", default=os.path.join(ROOT, "build", "release", "bin", "trellis"))
    parser.add_argument("--model", default=os.environ.get("TRELLIS_MODEL") or os.path.join(ROOT, "models", "multilingual-e5-small"))
    arguments = parser.parse_args()
    if not os.path.exists(arguments.model):
        sys.exit(f"{arguments.model} is not there: tools/fetch_model --tokenizer-only puts it there")

    files = [os.path.join(ROOT, "tests", "golden", "xlmr.jsonl")]
    if cases := os.environ.get("TRELLIS_CASES"):
        files += [os.path.join(cases, "golden_xlmr.jsonl"), os.path.join(cases, "cases_xlmr.jsonl")]
    else:
        print("SKIPPED: TRELLIS_CASES is not set, so the further cases are not checked")
    # All files in one go: each run of the command loads the model anew.
    rows = []
    for path in files:
        usable = [row for row in read_rows(path) if supported(row)]
        rows += [{**row, "name": f"{os.path.basename(path)} {row['name']}"} for row in usable]
        print(f"{os.path.basename(path)}: {len(usable)} cases")
        if len(usable) < 100:
            sys.exit(f"{path} has lost cases")
    command = Command(arguments.trellis, arguments.model)
    command.check_encoding(rows)
    command.check_character_offsets(rows)
    command.check_decoding(rows)
    command.check_errors(rows)
    print(f"{len(rows)} cases, {command.checks} comparisons")
    if command.failures:
        sys.exit(f"{command.failures} of {command.checks} comparisons differ")


if __name__ == "__main__":
    main()
