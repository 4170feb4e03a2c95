#!/usr/bin/env python3
"""The CPU engine and its peers side by side: same token ids, outputs compared, in one run. Python 3.9 or newer.

  bench/serve/engine_peers.py --build build/release [--model models/multilingual-e5-small] [--build-dir build/engine-peers]
                              [--threads 1,2] [--cores 1,0] [--rounds 5] [--seconds 0.5] [--realtime] [--quick]
                              [--output bench/results/engine-peers]

Makes a virtual environment with the peers in --build-dir and writes the model in their formats there (no torch), compares
every engine's vectors with those of our own float32, then times. Every engine is loaded once and stays; they take turns:
within a round each does one shape, then the next shape. A number is the least over all rounds. Programs are tied to the
first cores of --cores. Writes NAME.json and NAME.txt. The program exits with 1 if vectors are not what they should be,
never because of a time.
"""
import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = ["onnx==1.23.2", "onnxruntime==1.32.0", "openvino==2026.4.1", "ctranslate2==4.8.5", "numpy==2.4.6"]
OURS = ["f32", "bf16", "int8"]
THEIRS = ["onnxruntime f32", "openvino f32", "openvino bf16", "onnxruntime int8", "ctranslate2 int8"]
# Of ours: its peers, what the ratio to the better of them should be, the least cosine to our own float32.
GOALS = {"f32": (["onnxruntime f32", "openvino f32"], 1.0), "bf16": (["openvino bf16"], 1.0),
         "int8": (["onnxruntime int8", "ctranslate2 int8"], 1.5)}
RAGGED_GOAL = 1.1
COMPARED = ["1x16", "1x128", "1x512", "ragged"]  # the others are more of the same lengths
COSINES = {"f32": 0.999999, "bf16": 0.999, "int8": 0.95}


def run_inside(folder):
    """Returns at once inside the environment in `folder`; else makes it and runs this program again there."""
    if os.path.realpath(sys.prefix) == os.path.realpath(folder):
        return
    python = os.path.join(folder, "bin", "python")
    done = os.path.join(folder, "done")
    wanted = " ".join(PEERS)
    if not os.path.exists(done) or open(done, encoding="utf-8").read() != wanted:
        print(f"installing {wanted} into {folder}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:", *PEERS],
                       check=True, stdin=subprocess.DEVNULL)
        with open(done, "w", encoding="utf-8") as file:
            file.write(wanted)
    os.execv(python, [python, *sys.argv])


class Engine:
    """One engine as a child: use with `with`."""

    def __init__(self, name, options, threads, batches):
        self.name = name
        cores = ",".join(options.cores.split(",")[:threads])
        ours = name in OURS
        if ours:
            command = [os.path.join(options.build, "bin", "cpu_engine_bench"), f"{options.model},dtype={name},threads={threads}",
                       "--batches", batches]
        else:
            command = [sys.executable, os.path.join(HERE, "engine_peer.py"), name, os.path.join(options.build_dir, "models"),
                       str(threads), batches]
        began = time.perf_counter()
        first = ["chrt", "--fifo", "10"] if options.realtime else []
        self.child = subprocess.Popen([*first, "taskset", "-c", cores, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env={**os.environ, "OMP_NUM_THREADS": str(threads)})
        self.load = self.answer()["load"]
        self.first = time.perf_counter() - began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait()

    def answer(self):
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: ended with status {self.child.wait()}, expected an answer")
        return json.loads(line)

    def ask(self, *words):
        self.child.stdin.write("\t".join(map(str, words)) + "\n")
        self.child.stdin.flush()
        return self.answer()

    def anonymous_mib(self):
        """Memory of its own, beside files that are mapped."""
        with open(f"/proc/{self.child.pid}/status", encoding="ascii") as status:
            kib = {line.split(":")[0]: int(line.split()[1]) for line in status if line.startswith("Rss")}
        return round((kib["RssAnon"] + kib["RssShmem"]) / 1024, 1)


def compare(engines, batches, folder):
    """{engine: (least, mean) cosine to our own float32 over the rows of COMPARED}; too little of it ends the program."""
    import numpy as np
    vectors = {}
    batches = {shape: batches[shape] for shape in COMPARED if shape in batches}
    for engine in engines:
        parts = []
        for shape in batches:
            path = os.path.join(folder, "vectors")
            engine.ask("vectors", shape, path)
            parts.append(np.fromfile(path, np.float32).reshape(len(batches[shape]), -1))
        vectors[engine.name] = np.concatenate(parts).astype(np.float64)
    cosines = {}
    for name, values in vectors.items():
        lengths = np.linalg.norm(values, axis=1) * np.linalg.norm(vectors["f32"], axis=1)
        each = (values * vectors["f32"]).sum(1) / lengths
        cosines[name] = (float(each.min()), float(each.mean()))
        least = COSINES[name.split()[-1]]
        if not cosines[name][0] >= least:
            raise SystemExit(f"{name}: cosine {cosines[name][0]:.6f} to our float32, expected at least {least}")
    return cosines


def time_all(engines, batches, options, threads):
    """{shape: {engine: {packing: least}}} with the cpu seconds a wall second of that run."""
    import engine_batches
    import engine_tables
    times = {shape: {} for shape in batches}
    for engine in engines:
        for shape in batches:
            engine.ask("warm", shape)
    for turn in range(options.rounds):
        print(f"{threads} threads, round {turn + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for shape, rows in batches.items():
            for engine in engines:
                packings = ["as is"] if engine.name in OURS else list(engine_batches.packings(shape, rows))
                if turn > 0:  # the one that has shown itself the better
                    packings = [engine_tables.best(times[shape][engine.name])[0]]
                for packing in packings:
                    got = engine.ask("time", shape, packing, options.seconds)
                    kept = times[shape].setdefault(engine.name, {}).setdefault(packing, got)
                    if got["least"] < kept["least"]:
                        times[shape][engine.name][packing] = got
                if threads > 1:
                    time.sleep(0.05)  # threads that still spin would be in the next engine's way
    return times


def measure(options, threads, batches, batches_path):
    engines, start = [], {}
    for name in OURS + THEIRS:
        best = None
        for _ in range(options.starts):  # each a fresh process; the last one stays
            if best is not None:
                engine.__exit__()
            engine = Engine(name, options, threads, batches_path)
            if best is None or engine.first < best["seconds"]:
                best = {"seconds": round(engine.first, 3), "load_seconds": round(engine.load, 3),
                        "anonymous_mib": engine.anonymous_mib()}
        start[name] = best
        engines.append(engine)
    cosines = compare(engines, batches, options.build_dir)
    times = time_all(engines, batches, options, threads)
    for engine in engines:
        start[engine.name]["anonymous_mib_after"] = engine.anonymous_mib()
        engine.__exit__()
    return {"threads": threads, "start": start, "cosines": cosines, "times": times}


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="with TRELLIS_SERVE=ON and TRELLIS_BENCH=ON")
    parser.add_argument("--model", default=os.path.join(ROOT, "models", "multilingual-e5-small"))
    parser.add_argument("--build-dir", default=os.path.join(ROOT, "build", "engine-peers"))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--cores", default="1,0", help="those of one thread first")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each shape, engine and round")
    parser.add_argument("--realtime", action="store_true", help="before all other programs on those cores, where that is allowed")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one short round of one thread, without the longest batches")
    parser.add_argument("--output", help="NAME of NAME.json and NAME.txt")
    options = parser.parse_args()
    if options.quick:
        options.threads, options.rounds, options.seconds, options.starts = "1", 1, 0.1, 1
    options.build_dir = os.path.abspath(options.build_dir)
    os.makedirs(options.build_dir, exist_ok=True)
    run_inside(os.path.join(options.build_dir, "venv"))
    import engine_batches
    import engine_peer_models
    import engine_tables

    engine_peer_models.make(options.model, os.path.join(options.build_dir, "models"))
    batches = engine_batches.make(os.path.join(ROOT, "tests", "golden", "xlmr.jsonl"))
    if options.quick:
        batches = {shape: rows for shape, rows in batches.items() if shape in ("1x16", "1x128", "ragged")}
    batches_path = os.path.join(options.build_dir, "batches")
    engine_batches.write(batches, batches_path)
    result = {"command": " ".join(["bench/serve/engine_peers.py", *sys.argv[1:]]), "date": str(datetime.date.today()),
              "machine": machine(), "cores": options.cores, "realtime": options.realtime, "load": os.getloadavg(), "peers": PEERS,
              "tokens": {shape: sum(map(len, rows)) for shape, rows in batches.items()},
              "runs": [measure(options, int(threads), batches, batches_path) for threads in options.threads.split(",")]}
    text = engine_tables.table(result, GOALS, RAGGED_GOAL)
    print(text)
    if options.output:
        with open(options.output + ".json", "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
        with open(options.output + ".txt", "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
