#!/usr/bin/env python3
"""`trellis-bench` from outside: its modes, its columns, its errors.

  trellis_bench_test.py --trellis-bench build/release/bin/trellis-bench [unittest's arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TINY = os.path.join(HERE, "tiny.json")
SENTENCEPIECE = os.path.join(HERE, os.pardir, "golden", "sp_models", "identity.model")
KEYS = ["label", "texts", "tokens", "bytes", "p50_us", "p99_us", "us_per_512_tokens", "allocations"]
HASH_MAP = ["--plain", "--trie", "hash-map"]
trellis_bench = None


def run(*arguments):
    return subprocess.run([trellis_bench, *arguments], capture_output=True, timeout=300)


class TrellisBench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.texts = os.path.join(folder.name, "texts.json")
        with open(os.path.join(HERE, "expected.jsonl"), encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
        rows = [row for row in rows if row["model"] == "tiny" and row.get("request", {}).get("add_special_tokens") is False
                and "pair" not in row["request"] and row["ids"]]
        entries = [["odd" if i % 2 else "even", row["request"]["text"]] for i, row in enumerate(rows)]
        self.write(entries)
        self.want = {}
        for (label, text), row in zip(entries, rows):
            sums = self.want.setdefault(label, {"texts": 0, "tokens": 0, "bytes": 0})
            sums["texts"] += 1
            sums["tokens"] += len(row["ids"])
            sums["bytes"] += len(text.encode())
        # As printed: label by label.
        self.want_ids = [row["ids"] for label in self.want for (of, _), row in zip(entries, rows) if of == label]

    def write(self, entries):
        with open(self.texts, "w", encoding="utf-8") as f:
            json.dump(entries, f)

    def results(self, *options):
        done = run(TINY, self.texts, "--json", *options)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_every_mode_counts_and_times(self):
        for options in (["--mode", "fresh"], ["--mode", "fresh", "--offsets"], ["--mode", "once"],
                        ["--mode", "fresh", "--plain"], ["--mode", "fresh", "--trie", "double-array"],
                        ["--mode", "fresh", *HASH_MAP], ["--mode", "fresh", "--offsets", *HASH_MAP],
                        ["--mode", "once", *HASH_MAP]):
            got = self.results(*options)
            self.assertEqual([line["label"] for line in got], ["even", "odd"])
            for line in got:
                self.assertEqual(list(line), KEYS)
                self.assertEqual({key: line[key] for key in ("texts", "tokens", "bytes")}, self.want[line["label"]])
                self.assertLessEqual(line["p50_us"], line["p99_us"])
                self.assertGreater(line["us_per_512_tokens"], 0)
                if "once" not in options:  # one pass has no steady state
                    self.assertEqual(line["allocations"], 0)

    def test_repeated(self):
        self.write([["en", "hello world"]])
        (line,) = self.results("--mode", "repeated")
        self.assertEqual(list(line), KEYS)
        self.assertEqual((line["texts"], line["tokens"], line["bytes"], line["allocations"]), (1, 2, 11, 0))
        self.assertGreater(line["p50_us"], 0)
        # One text: both numbers are of the same samples.
        self.assertAlmostEqual(line["us_per_512_tokens"], line["p50_us"] * 512 / 2, delta=0.05 * line["us_per_512_tokens"])

    def test_iterations_are_not_timed(self):
        for options in ([], HASH_MAP):
            for line in self.results("--mode", "repeated", "--iterations", "3", *options):
                self.assertEqual({key: line[key] for key in ("texts", "tokens", "bytes")}, self.want[line["label"]])
                self.assertEqual([line[key] for key in ("p50_us", "p99_us", "us_per_512_tokens")], [None] * 3)

    def test_ids_of_every_variant(self):
        self.assertGreater(len(self.want_ids), 2)
        for options in ([], ["--plain"], ["--plain", "--trie", "double-array"], ["--huge-pages"], HASH_MAP):
            done = run(TINY, self.texts, "--mode", "ids", "--json", *options)
            self.assertEqual((done.returncode, done.stderr), (0, b""), options)
            got = [[int(i) for i in line.split(" ")] for line in done.stdout.decode().split("\n")[:-1]]
            self.assertEqual(got, self.want_ids, options)

    def test_ids_of_a_text_without_tokens(self):
        self.write([["a", "hello world"], ["b", ""], ["a", "hello world"]])
        for options in ([], HASH_MAP):
            lines = run(TINY, self.texts, "--mode", "ids", *options).stdout.decode().split("\n")
            self.assertEqual((lines[0], lines[1], lines[2:]), (lines[1], lines[0], ["", ""]), options)
            self.assertEqual(len(lines[0].split(" ")), 2)

    def test_hash_map_is_for_tokenizer_json(self):
        done = run(SENTENCEPIECE, self.texts, "--mode", "fresh", *HASH_MAP)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn("expected a model of the Hugging Face dialect", done.stderr.decode())

    def test_table(self):
        done = run(TINY, self.texts, "--mode", "fresh")
        lines = done.stdout.decode().splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["label", "even", "odd"])

    def test_errors(self):
        for status, arguments in ((2, [TINY, self.texts]), (2, [TINY, self.texts, "--mode", "cold"]),
                                  (2, [TINY, self.texts, "--mode", "fresh", "--iterations", "1"]),
                                  (2, [TINY, self.texts, "--mode", "fresh", "--trie", "hash-map"]),
                                  (1, [TINY, self.texts + "x", "--mode", "fresh"]),
                                  (1, [self.texts, self.texts, "--mode", "fresh"])):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (status, b""))
            self.assertTrue(done.stderr)
        for entries, message in (([], "at least one text"), ([["a"]], "entry 0"), ([["a", "b"], ["a", 1]], "entry 1")):
            self.write(entries)
            done = run(TINY, self.texts, "--mode", "fresh")
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr.decode())


if __name__ == "__main__":
    if sys.argv[1:2] != ["--trellis-bench"]:
        sys.exit(__doc__)
    trellis_bench = os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
