"""One peer as a program that engine_peers.py drives: it loads, computes one vector, says so, and then does as it is told.

  engine_peer.py ENGINE MODELS THREADS BATCHES    with the commands of cpu_engine_bench --batches on stdin
"""
import json
import os
import sys
import time

import numpy as np

import engine_batches


class OnnxRuntime:
    def __init__(self, path, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def prepare(self, rows):
        return _padded(rows)

    def run(self, batch):
        return self.session.run(["vector"], batch)[0]


class OpenVino:
    def __init__(self, path, threads, precision):
        import openvino
        core = openvino.Core()
        self.request = core.compile_model(core.read_model(path), "CPU", {
            "INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}).create_infer_request()

    def prepare(self, rows):
        return _padded(rows)

    def run(self, batch):
        return self.request.infer(batch, share_inputs=True, share_outputs=True)["vector"]


class CTranslate2:
    def __init__(self, path, threads):
        import ctranslate2
        self.view = ctranslate2.StorageView.from_array
        self.encoder = ctranslate2.Encoder(path, device="cpu", compute_type="int8", intra_threads=threads, inter_threads=1)

    def prepare(self, rows):
        batch = _padded(rows)
        lengths = np.array([len(row) for row in rows], np.int32)
        return self.view(batch["input_ids"].astype(np.int32)), self.view(lengths), batch["attention_mask"].astype(np.float32)[:, :, None]

    def run(self, batch):
        ids, lengths, mask = batch
        total = (np.asarray(self.encoder.forward_batch(ids, lengths).last_hidden_state) * mask).sum(1)
        return total / np.linalg.norm(total, axis=1, keepdims=True)


def _padded(rows):
    length = max(map(len, rows))
    ids, mask = np.ones((len(rows), length), np.int64), np.zeros((len(rows), length), np.int64)
    for i, row in enumerate(rows):
        ids[i, :len(row)], mask[i, :len(row)] = row, 1
    return {"input_ids": ids, "attention_mask": mask}


def open_engine(name, models, threads):
    def path(file):
        return os.path.join(models, file)

    return {"onnxruntime f32": lambda: OnnxRuntime(path("fused.onnx"), threads),
            "onnxruntime int8": lambda: OnnxRuntime(path("int8.onnx"), threads),
            "openvino f32": lambda: OpenVino(path("standard.onnx"), threads, "f32"),
            "openvino bf16": lambda: OpenVino(path("standard.onnx"), threads, "bf16"),
            "ctranslate2 int8": lambda: CTranslate2(path("ctranslate2"), threads)}[name]()


def read_batches(path):
    batches = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            name, *ids = line.split()
            batches.setdefault(name, []).append(list(map(int, ids)))
    return batches


def say(**values):
    print(json.dumps(values), flush=True)


def time_it(engine, batches, seconds):
    walls, cpus = [], []
    while sum(walls) < seconds or not walls:
        wall, cpu = time.perf_counter(), time.process_time()
        for batch in batches:
            engine.run(batch)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    best = min(range(len(walls)), key=walls.__getitem__)
    say(runs=len(walls), least=walls[best], cpu=cpus[best], median=sorted(walls)[len(walls) // 2])


def main():
    name, models, threads, batches_path = sys.argv[1:]
    begin = time.perf_counter()
    engine = open_engine(name, models, int(threads))
    engine.run(engine.prepare([[0, 5, 6, 7, 2]]))
    say(load=time.perf_counter() - begin)
    shapes = read_batches(batches_path)
    prepared = {}
    for line in sys.stdin:
        command, shape, *rest = line.rstrip("\n").split("\t")
        rows = shapes[shape]
        if command == "vectors":
            vectors = [np.array(engine.run(engine.prepare([row])), np.float32) for row in rows]
            np.concatenate(vectors).tofile(rest[0])
            say(vectors=len(vectors))
        elif command == "warm":  # each length once: what it makes for a shape is made before it is timed
            for packing, batches in engine_batches.packings(shape, rows).items():
                prepared[shape, packing] = [engine.prepare(batch) for batch in batches]
                for batch in prepared[shape, packing]:
                    engine.run(batch)
            say(warm=shape)
        elif command == "time":
            time_it(engine, prepared[shape, rest[0]], float(rest[1]))
        else:
            raise SystemExit(f"engine_peer: command {command}, expected vectors, warm or time")


if __name__ == "__main__":
    main()
