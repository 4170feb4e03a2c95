#!/usr/bin/env python3
"""`trellis embed` and `trellis rerank` from outside, on the tiny models of tests/serve/models.

  engine_commands_test.py --trellis build/release/bin/trellis [--without-engine] [unittest's arguments]

What numbers must come out is the reference's word, in each model's reference.json (tools/make_tiny_models). --without-engine
tests a build that has no engine: it says so.
"""
import json
import math
import os
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "serve", "models")
SECONDS = 120
trellis = None


def model(name):
    return os.path.join(MODELS, name)


def reference(name):
    with open(os.path.join(model(name), "reference.json"), encoding="utf-8") as f:
        return json.load(f)


def run(*arguments, stdin=""):
    return subprocess.run([trellis, *arguments], input=stdin.encode(), capture_output=True, timeout=SECONDS)


def normalized(vector):
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector]


class WithoutEngine(unittest.TestCase):
    def test_says_how_to_get_one(self):
        for command in (["embed", model("tiny-bert"), "--npy", "x"], ["rerank", model("tiny-reranker"), "query"], ["embed"]):
            done = run(*command)
            self.assertEqual(done.returncode, 1, command)
            self.assertEqual(done.stdout, b"")
            self.assertIn(b"expected one configured with -DTRELLIS_SERVE=ON", done.stderr)


class WithEngine(unittest.TestCase):
    def assert_near(self, actual, expected, tolerance=1e-5):
        self.assertEqual(len(actual), len(expected))
        worst = max(abs(a - b) for a, b in zip(actual, expected))
        self.assertLessEqual(worst, tolerance)

    def assert_fault(self, done, *says, status=1):
        self.assertEqual(done.returncode, status, done.stderr)
        for text in says:
            self.assertIn(text, done.stderr.decode())

    def embed(self, name, *options, texts):
        done = run("embed", model(name), "--dtype", "f32", "--threads", "1", "--jsonl", *options,
                   stdin="".join(json.dumps(text) + "\n" for text in texts))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"")
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    # --- embed ---

    def test_embeds_as_the_reference_does(self):
        checked = 0
        for name in ("tiny-bert", "tiny-xlm-roberta-dense", "tiny-m3"):
            by_prompt = {}
            for row in reference(name)["texts"]:
                by_prompt.setdefault(row.get("prompt_name"), []).append(row)
            for prompt, rows in by_prompt.items():
                options = ["--prompt-name", prompt] if prompt else []
                vectors = self.embed(name, *options, texts=[row["text"] for row in rows])
                self.assertEqual(len(vectors), len(rows))
                for vector, row in zip(vectors, rows):
                    self.assert_near(vector, row["embedding"])
                    checked += 1
        self.assertGreaterEqual(checked, 27)

    def test_a_prompt_is_put_in_front_as_it_stands(self):
        row = next(r for r in reference("tiny-bert")["texts"] if r.get("prompt_name") == "query")
        [vector] = self.embed("tiny-bert", "--prompt", "query: ", texts=[row["text"]])
        self.assert_near(vector, row["embedding"])
        [other] = self.embed("tiny-bert", "--prompt", "", texts=[row["text"]])
        self.assertGreater(max(abs(a - b) for a, b in zip(vector, other)), 1e-3)

    def test_the_default_prompt_is_the_models(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in os.listdir(model("tiny-bert")):
                os.symlink(os.path.join(model("tiny-bert"), file), os.path.join(folder, file))
            os.remove(os.path.join(folder, "config_sentence_transformers.json"))
            with open(os.path.join(folder, "config_sentence_transformers.json"), "w") as f:
                json.dump({"prompts": {"query": "query: "}, "default_prompt_name": "query"}, f)
            text = "the small model"
            [by_default] = self.embed(folder, texts=[text])
            [by_name] = self.embed("tiny-bert", "--prompt-name", "query", texts=[text])
            self.assertEqual(by_default, by_name)

    def test_lines_are_texts(self):
        texts = ["the small model", "", "água \r", "water"]
        done = run("embed", model("tiny-bert"), "--dtype", "f32", stdin="\n".join(texts))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.assertEqual(len(lines), 4)
        for line, expected in zip(lines, self.embed("tiny-bert", texts=texts)):
            self.assert_near(line, expected)
        self.assertEqual(run("embed", model("tiny-bert"), stdin="").stdout, b"")

    def test_many_rows_keep_their_order(self):
        rows = [row for row in reference("tiny-xlm-roberta-dense")["texts"]] * 300
        vectors = self.embed("tiny-xlm-roberta-dense", texts=[row["text"] for row in rows])
        self.assertEqual(len(vectors), len(rows))
        for vector, row in zip(vectors, rows):
            self.assert_near(vector, row["embedding"])

    def test_dimensions_are_cut_and_normalized_again(self):
        texts = ["the small model", "water"]
        for whole, cut in zip(self.embed("tiny-bert", texts=texts), self.embed("tiny-bert", "--dimensions", "8", texts=texts)):
            self.assert_near(cut, normalized(whole[:8]))

    def test_pooling_and_normalization_can_be_chosen(self):
        rows = reference("tiny-roberta")["rows"]
        self.assertGreater(len(rows), 5)
        name, text = "tiny-roberta", "the small model"
        mean = self.embed(name, "--no-normalize", texts=[text])[0]
        cls = self.embed(name, "--no-normalize", "--pooling", "cls", texts=[text])[0]
        last = self.embed(name, "--no-normalize", "--pooling", "last", texts=[text])[0]
        self.assertGreater(abs(sum(x * x for x in mean) - 1), 1e-2)
        self.assert_near(self.embed(name, texts=[text])[0], normalized(mean))
        self.assertNotEqual(cls, mean)
        self.assertNotEqual(cls, last)

    def test_writes_a_numpy_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.npy")
            texts = ["the small model", "water", ""]
            self.assertEqual(self.embed("tiny-bert", "--npy", path, texts=texts), [])
            with open(path, "rb") as f:
                data = f.read()
            self.assertEqual(data[:8], b"\x93NUMPY\x01\x00")
            (length,) = struct.unpack("<H", data[8:10])
            self.assertEqual((10 + length) % 64, 0)
            header = eval(data[10:10 + length].decode())  # a literal, by the format's definition
            self.assertEqual(header, {"descr": "<f4", "fortran_order": False, "shape": (3, 36)})
            values = struct.unpack(f"<{3 * 36}f", data[10 + length:])
            expected = [x for vector in self.embed("tiny-bert", texts=texts) for x in vector]
            self.assert_near(values, expected, 1e-7)
            # Nothing is left of a run that fails.
            other = os.path.join(folder, "other.npy")
            done = run("embed", model("tiny-bert"), "--jsonl", "--npy", other, stdin='"water"\n7\n')
            self.assert_fault(done, ":2: expected a JSON string or object")
            self.assertEqual(os.listdir(folder), ["x.npy"])
            self.assert_fault(run("embed", model("tiny-bert"), "--npy", os.path.join(folder, "no", "x.npy")), "cannot be written")
            # A link stays one, and what is no file is left alone.
            os.mkdir(os.path.join(folder, "sub"))
            link, pipe = os.path.join(folder, "link.npy"), os.path.join(folder, "pipe.npy")
            os.symlink("sub/target.npy", link)
            self.assertEqual(self.embed("tiny-bert", "--npy", link, texts=texts), [])
            self.assertTrue(os.path.islink(link))
            with open(os.path.join(folder, "sub", "target.npy"), "rb") as f:
                self.assertEqual(f.read(), data)
            os.mkfifo(pipe)
            for target in (pipe, "-"):
                self.assert_fault(run("embed", model("tiny-bert"), "--npy", target, stdin="water\n"), "expected a new file or a regular one")
            self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    def test_results_before_an_error_come_out(self):
        done = run("embed", model("tiny-bert"), "--dtype", "f32", "--jsonl", stdin='"water"\n{"text":"a","pair":"b"}\n"no"\n')
        self.assert_fault(done, ':2: field "pair": expected one text a line')
        [line] = done.stdout.decode().splitlines()
        self.assert_near(json.loads(line), self.embed("tiny-bert", texts=["water"])[0])

    def test_embed_names_what_is_wrong(self):
        self.assert_fault(run("embed", model("tiny-reranker")), "tiny-reranker: a classifier, expected a model that embeds")
        self.assert_fault(run("embed", model("tiny-bert"), "--dimensions", "37"), "--dimensions 37: expected at most the model's 36")
        self.assert_fault(run("embed", model("tiny-bert"), "--prompt-name", "x"), 'prompt "x", expected one of ')
        self.assert_fault(run("embed", model("none")), "none: no folder, expected one with config.json")
        self.assert_fault(run("embed", model("tiny-bert"), "--dimensions", "0"), status=2)
        self.assert_fault(run("embed", model("tiny-bert"), "--dtype", "f64"), status=2)
        self.assert_fault(run("embed", model("tiny-bert"), "--pooling", "max"), status=2)
        self.assert_fault(run("embed", model("tiny-bert"), "--prompt", "a", "--prompt-name", "query"), status=2)
        self.assert_fault(run("embed"), status=2)

    # --- rerank ---

    def rerank(self, query, documents, *options):
        done = run("rerank", model("tiny-reranker"), query, "--dtype", "f32", "--jsonl", *options,
                   stdin="".join(json.dumps(text) + "\n" for text in documents))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def test_scores_as_the_reference_does(self):
        pairs = reference("tiny-reranker")["pairs"]
        self.assertGreaterEqual(len(pairs), 5)
        for pair in pairs:
            [raw] = self.rerank(pair["query"], [pair["document"]], "--raw-scores")
            self.assertEqual(raw["index"], 0)
            self.assert_near([raw["score"]], pair["logits"])
            [score] = self.rerank(pair["query"], [pair["document"]])
            self.assert_near([score["score"]], [1 / (1 + math.exp(-pair["logits"][0]))])

    def test_best_first_and_every_document_once(self):
        documents = ["water", "the people could find water", "no", "water", "日本人 と 水", "", "no"]
        ranked = self.rerank("who can find water", documents)
        self.assertEqual(sorted(r["index"] for r in ranked), list(range(7)))
        for better, worse in zip(ranked, ranked[1:]):
            self.assertGreaterEqual(better["score"], worse["score"])
        order = [r["index"] for r in ranked]
        self.assertEqual(order.index(3), order.index(0) + 1)  # equal ones: the earlier first
        self.assertEqual(order.index(6), order.index(2) + 1)
        self.assertEqual(self.rerank("who can find water", documents, "--top-n", "2"), ranked[:2])
        self.assertEqual(self.rerank("who can find water", documents, "--top-n", "99"), ranked)
        self.assertEqual(self.rerank("who can find water", []), [])

    def test_rerank_names_what_is_wrong(self):
        self.assert_fault(run("rerank", model("tiny-bert"), "q"), "tiny-bert: a model with 0 labels, expected a reranker")
        self.assert_fault(run("rerank", model("tiny-bert-classifier"), "q"), "a model with 3 labels, expected a reranker")
        self.assert_fault(run("rerank", model("tiny-reranker")), status=2)
        self.assert_fault(run("rerank", model("tiny-reranker"), "q", "--top-n", "0"), status=2)


def main():
    global trellis
    arguments = sys.argv[1:]
    if "--trellis" not in arguments:
        sys.exit("engine_commands_test: expected --trellis PROGRAM")
    at = arguments.index("--trellis")
    trellis = os.path.abspath(arguments[at + 1])
    del arguments[at:at + 2]
    case = WithEngine
    if "--without-engine" in arguments:
        arguments.remove("--without-engine")
        case = WithoutEngine
    loader = unittest.TestLoader()
    loader.loadTestsFromModule = lambda module, *args, **more: loader.loadTestsFromTestCase(case)
    unittest.main(argv=[sys.argv[0], *arguments], testLoader=loader)


if __name__ == "__main__":
    main()
