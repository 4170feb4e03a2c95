#!/usr/bin/env python3
"""tools/gpu_check without torch and without a GPU: its judgement, its table, its children, and what it says when it cannot run.

  report_test.py PROGRAM      PROGRAM is trellis-gpu-check-fake
"""
import copy
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "bench", "serve", "gpu"))
import children  # noqa: E402
import report  # noqa: E402
import shapes  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
GRAPH = {"rows": 1, "tokens": 64, "captured": True, "equal": True, "eager_us": 900.0, "graph_us": 300.0, "eager_launch_us": 800.0,
         "graph_launch_us": 12.0, "capture_us": 5000.0, "bytes": 1 << 20}
MODEL = {"times": [{"part": "latency", "name": "1x128", "peer": "trellis", "p50_ms": 0.41, "p90_ms": 0.5, "p99_ms": 1.25},
                   {"part": "latency", "name": "1x128", "peer": "torch sdpa", "p50_ms": 4.0, "p90_ms": 5.0, "p99_ms": 6.0},
                   {"part": "throughput", "name": "100x512", "peer": "trellis", "rows_per_s": 12345.6}],
         "load": {"open_s": 1.0, "load_s": 2.0, "bytes": 3 << 30}, "graphs": [GRAPH], "inflection": {"tokens": 2048},
         "numerics": {"apart": 0.2, "ours": {"embed": {"worst": 2e-4, "mean": 1e-4}, "embed_all": {"worst": 2e-3, "mean": 1e-4}},
                      "torch": {"embed": {"worst": 3e-4, "mean": 2e-4}}}}


def failed(model):
    return [check["what"] for check in report.checks_of({"m": model}, ["m"]) if not check["ok"]]


class Judgement(unittest.TestCase):
    def test_good(self):
        self.assertEqual(failed(MODEL), [])

    def broken(self, **changes):
        model = copy.deepcopy(MODEL)
        model.update(changes)
        return failed(model)

    def test_what_has_to_hold(self):
        # One token's vector among thousands may be off; the mean may not, and a row's vector may not.
        numerics = copy.deepcopy(MODEL["numerics"])
        numerics["ours"]["embed"]["worst"] = 1.1e-3
        self.assertEqual(self.broken(numerics=numerics), ["m: embed, worst cosine distance to float32 <= 0.001"])
        numerics = copy.deepcopy(MODEL["numerics"])
        numerics["ours"]["embed_all"]["mean"] = float("nan")
        self.assertEqual(self.broken(numerics=numerics), ["m: embed_all, mean cosine distance to float32 <= 0.001"])
        self.assertEqual(self.broken(numerics={**MODEL["numerics"], "apart": 0.001}),
                         ["m: vectors of neighbouring tokens are apart by >= 0.01"])
        bits = "m: graph of 1 rows, 64 tokens = its kernels, bit for bit"
        self.assertEqual(self.broken(graphs=[{**GRAPH, "equal": False}]), [bits])
        self.assertEqual(self.broken(graphs=[{**GRAPH, "captured": False}]), [bits])

    def test_what_is_missing_fails(self):
        self.assertEqual(self.broken(graphs=[]), ["m: graphs"])
        self.assertEqual(self.broken(numerics=None), ["m: values"])
        self.assertEqual(self.broken(failure="ended by signal 11"), ["m: the engine"])
        self.assertEqual(len(report.checks_of({}, ["m"])), 2)
        self.assertFalse(any(check["ok"] for check in report.checks_of({}, ["m"])))


class Table(unittest.TestCase):
    def report(self, **changes):
        gpu = {"name": "NVIDIA H200", "driver": "580.1", "compute": "9.0", "memory": "143771 MiB"}
        return {"command": "tools/gpu_check run", "date": "2026-11-30", "built": {"commit": "abc"}, "fake": False, "seconds": 200.0,
                "machine": {"gpu": gpu, "processor": "a processor", "cores": 16, "system": "Linux", "versions": {"torch": "2.11.0"}},
                "models": {"m": MODEL}, "left_out": [{"what": "latency 1x4096", "why": "no time left", "model": "m", "peer": "torch eager"},
                                                     {"what": "vLLM's times", "why": "vllm is not installed"}],
                "checks": report.checks_of({"m": MODEL}, ["m"]), **changes}

    def test_rows(self):
        text = report.table(self.report())
        for line in ("NVIDIA H200, driver 580.1, 143771 MiB; a processor, 16 cores; Linux; torch 2.11.0", "4 of 4 checks passed.",
                     "| rows x tokens | trellis | torch sdpa |", "| 1x128 | 0.41, 0.5, 1.25 | 4, 5, 6 |", "| 100x512 | 12,346 | - |",
                     "| 1 x 64 | yes | 900 | 300 | 800 | 12 | 5.00 | 1.00 |", "Graphs pay up to 2,048 tokens.",
                     "| m | embed | 2.0e-04 | 1.0e-04 | 3.0e-04 | 2.0e-04 |", "- m: torch eager: latency 1x4096: no time left",
                     "- vLLM's times: vllm is not installed", "m: opened in 1.00 s, loaded in 2.00 s, 3,072 MiB."):
            self.assertIn(line + "\n", text)
        self.assertNotIn("mean nothing", text)

    def test_fake_says_so(self):
        text = report.table(self.report(fake=True))
        self.assertIn("times and memory mean nothing", text)

    def test_failures_are_named(self):
        checks = report.checks_of({"m": {**MODEL, "graphs": [{**GRAPH, "equal": False}]}}, ["m"])
        text = report.table(self.report(checks=checks))
        self.assertIn("3 of 4 checks passed.\n", text)
        self.assertIn("- FAILED: m: graph of 1 rows, 64 tokens = its kernels, bit for bit: not equal\n", text)

    def test_nothing_was_found(self):
        text = report.table(self.report(models={"m": {"times": [], "failure": "no model was made"}}, checks=report.checks_of({}, ["m"])))
        self.assertIn("0 of 2 checks passed.\n", text)


@unittest.skipIf(importlib.util.find_spec("numpy") is None, "this python has no numpy: distances are not tested")
class Distances(unittest.TestCase):
    def setUp(self):
        import numpy
        import row_values
        self.numpy, self.values = numpy, row_values

    def rows(self, *rows):
        return [self.numpy.array(row, self.numpy.float32) for row in rows]

    def compare(self, ours, theirs, task="embed"):
        return self.values.compare({task: ours}, {task: theirs}, [[5, 9], [7]], 2)[task]

    def test_cosines(self):
        # 45 degrees: 1 - sqrt(0.5) in one of two rows; length does not count.
        found = self.compare(self.rows([3, 3], [0, 1]), self.rows([1, 0], [0, 2]))
        self.assertAlmostEqual(found["worst"], 1 - 0.5 ** 0.5, 12)
        self.assertAlmostEqual(found["mean"], (1 - 0.5 ** 0.5) / 2, 12)
        for none in ([float("nan"), 1], [float("inf"), 1], [0, 0]):
            self.assertEqual(self.compare(self.rows(none, [0, 1]), self.rows([1, 0], [0, 1]))["worst"], 2)

    def test_every_token(self):
        # Three tokens in two rows.
        found = self.compare(self.rows([1, 0, 0, 1], [0, 1]), self.rows([1, 0, 0, -1], [0, 1]), "embed_all")
        self.assertEqual(found, {"worst": 2.0, "mean": 2 / 3})

    def test_sparse_weights_go_by_id(self):
        ids = [self.numpy.array(i, self.numpy.int32) for i in ([5, 9], [9], [])]
        one, other, none = zip(self.rows([1, 1], [1], []), ids)
        self.assertAlmostEqual(self.compare([one, none], [one, none], "sparse")["worst"], 0, 12)
        self.assertAlmostEqual(self.compare([other, none], [one, none], "sparse")["worst"], 1 - 0.5 ** 0.5, 12)
        self.assertEqual(self.compare([none, none], [one, none], "sparse")["worst"], 2)

    def test_files(self):
        tasks = {"embed": self.rows([1, 2], [3, 4]), "sparse": [(*self.rows([0.5]), self.numpy.array([7], self.numpy.int32)),
                                                              (*self.rows([]), self.numpy.array([], self.numpy.int32))]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "values")
            lines = self.values.write(tasks, path)
            self.assertEqual([line["counts"] for line in lines], [[2, 2], [1, 0]])
            read = self.values.read(path, lines)
            self.assertEqual(self.numpy.concatenate(read["embed"]).tolist(), [1, 2, 3, 4])
            self.assertEqual([part.tolist() for part in read["sparse"][0]], [[0.5], [7]])
            with self.assertRaises(ValueError):  # one task's are not all
                self.values.read(path, lines[:1])
            with self.assertRaises(ValueError):
                self.compare(read["embed"][:1], tasks["embed"])


class Children(unittest.TestCase):
    def run_python(self, code, limit=60.0):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            said = children.run([sys.executable, "-c", code], limit, log)
            with open(log, encoding="utf-8") as file:
                return said, file.read()

    def test_lines_and_talk(self):
        said, log = self.run_python("import sys; print('{\"part\": \"a\", \"n\": 1}'); print('talk'); print('more', file=sys.stderr)")
        self.assertIsNone(said.failure)
        self.assertEqual(said.of("a", n=1), [{"part": "a", "n": 1}])
        self.assertEqual(said.of("a", n=2), [])
        self.assertIn("talk\n", log)
        self.assertIn("more\n", log)

    def test_failures(self):
        said, _ = self.run_python("import sys; print('{\"part\": \"a\"}', flush=True); sys.exit('what is wrong')")
        self.assertEqual(said.failure, "ended with status 1: what is wrong")
        self.assertEqual(len(said.of("a")), 1)
        said, _ = self.run_python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(said.failure, "ended by signal 9")

    def test_limit(self):
        # And its own children end with it: the pipe would stay open else.
        said, _ = self.run_python("import subprocess, sys, time; print('{\"part\": \"a\"}', flush=True); "
                                  "subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])", limit=3)
        self.assertEqual(said.failure, "stopped after 3 s")
        self.assertEqual(len(said.of("a")), 1)


class Plans(unittest.TestCase):
    def test_rows_are_what_their_names_say_and_the_models_take(self):
        for tiny, known in ((False, shapes.REAL), (True, shapes.TINY)):
            for shape in known:
                plan = shapes.plan_of(shape, tiny)
                batches = shapes.batches_of(shape, plan)
                for name in plan.latency + plan.throughput:
                    rows, tokens = map(int, name.split("x"))
                    self.assertEqual([len(row) for row in batches[name]], [tokens] * rows)
                self.assertEqual([len(row) for row in batches["values"]], plan.values)
                for rows in batches.values():
                    self.assertLessEqual(max(map(len, rows)), min(shape.longest, plan.max_batch_tokens))
                    self.assertTrue(all(0 <= i < shape.vocab and i != 1 for row in rows for i in row))
                    steps = shapes.steps_of(rows, plan)
                    self.assertEqual([row for step in steps for row in step], rows)
                    self.assertLessEqual(max(sum(map(len, step)) for step in steps), plan.max_batch_tokens)

    def test_published_scenarios(self):
        plan = shapes.plan_of(shapes.REAL[2], False)  # bge-m3
        self.assertLessEqual({"1x128", "1x512", "1x4096", "5x512", "25x512", "50x512"}, set(plan.latency))
        self.assertEqual(plan.throughput, ["100x512", "100x1024", "100x4096"])
        self.assertEqual(shapes.left_out(shapes.REAL[2], False), [])
        self.assertEqual(len(shapes.left_out(shapes.REAL[0], False)), 3)  # e5-small takes 512 tokens


class Command(unittest.TestCase):
    def gpu_check(self, *words, **environment):
        return subprocess.run([sys.executable, os.path.join(ROOT, "tools", "gpu_check"), *words], capture_output=True, text=True,
                              env={**os.environ, **environment})

    def test_without_a_gpu(self):
        with tempfile.TemporaryDirectory() as empty:
            done = self.gpu_check("run", "--output", os.path.join(empty, "report"), PATH=empty)
            self.assertEqual(done.returncode, 2, done)
            self.assertEqual(done.stderr, "gpu_check: no GPU: there is no nvidia-smi, so no driver. `tools/gpu_check run --fake` does all of it "
                                          "on a GPU that is none\n")
            self.assertEqual(os.listdir(empty), [])

    def test_without_a_compiler(self):
        with tempfile.TemporaryDirectory() as empty:
            done = self.gpu_check("build", PATH=empty)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("build/gpu_check cannot be made here without cmake (Debian: cmake): ", done.stderr)

    def test_without_torch(self):
        if importlib.util.find_spec("torch") is not None:
            self.skipTest("this python has torch")
        done = self.gpu_check("run", "--fake", "--program", PROGRAM)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(" has no torch, ", done.stderr)

    def test_program_says_what_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            batches = os.path.join(folder, "batches")
            small = ["--max-batch-tokens", "64", "--max-batch-rows", "4"]
            with open(batches, "w", encoding="ascii") as file:
                file.write("one 1 2 3\n")
            for words, expected in (
                    (["no-such-folder", "--batches", batches], "config.json"),
                    ([os.path.join(ROOT, "tests/serve/models/tiny-m3"), "--batches", "no-such-file"], "no-such-file"),
                    ([os.path.join(ROOT, "tests/serve/models/tiny-m3"), "--batches", batches, "--latency", "two"], "\"two\""),
                    ([os.path.join(ROOT, "tests/serve/models/tiny-m3"), "--batches", batches, "--buckets", "x"], "expected ROWSxTOKENS")):
                done = subprocess.run([PROGRAM, *words, *small], capture_output=True, text=True)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(expected, done.stderr)
                self.assertTrue(done.stderr.startswith("trellis-gpu-check: "), done)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
