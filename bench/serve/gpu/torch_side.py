"""torch's part of tools/gpu_check, as a child: models and what they come to in float32; then torch's own times.

  torch_side.py make FOLDER [--tiny] [--models NAMES]                 FOLDER/NAME, NAME.float32, NAME.bfloat16
  torch_side.py time FOLDER [--tiny] [--models NAMES] --budget S      latencies and throughputs

A line of JSON a finding. What does not fit into the time or the memory is a line, too.
"""
import argparse
import json
import os
import sys
import time

import torch

import row_values
import shapes
import torch_models

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# By what they cost to start: torch.compile takes the time that is left.
PEERS = ["torch sdpa", "torch eager", "torch compile"]


def say(part, **values):
    print(json.dumps({"part": part, **values}), flush=True)


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def make(options):
    torch.set_float32_matmul_precision("highest")  # no TF32: this is the truth
    for shape in options.shapes:
        began = time.perf_counter()
        folder = os.path.join(options.folder, shape.name)
        torch_models.make(shape, folder, DEVICE)
        made = time.perf_counter() - began
        rows = shapes.batches_of(shape, shapes.plan_of(shape, options.tiny))["values"]
        for dtype in (torch.float32, torch.bfloat16):
            name = str(dtype).removeprefix("torch.")
            model = torch_models.TorchModel(shape, folder, DEVICE, dtype, "sdpa")
            for line in row_values.write(model.values(rows), os.path.join(options.folder, f"{shape.name}.{name}")):
                say(**line, model=shape.name, dtype=name)
            del model
        say("made", model=shape.name, make_s=made, reference_s=time.perf_counter() - began - made)


class Peer:
    """As much of it as is timed: ids from pinned memory to the GPU, the model, vectors back to the host."""

    def __init__(self, name, shape, folder):
        attention = "eager" if name == "torch eager" else "sdpa"
        self.run_step = torch_models.TorchModel(shape, folder, DEVICE, torch.bfloat16, attention).vectors
        self.compiled = name == "torch compile"
        if self.compiled:  # with graphs of CUDA, of each size its own, and never back to eager for having too many
            torch._dynamo.reset()
            torch._dynamo.config.cache_size_limit = 64
            self.run_step = torch.compile(self.run_step, mode="reduce-overhead", dynamic=False)

    def prepare(self, rows, plan):
        steps = [torch.tensor(step) for step in shapes.steps_of(rows, plan)]
        return [step.pin_memory() for step in steps] if DEVICE == "cuda" else steps

    def run(self, steps):
        made = []
        for ids in steps:
            vectors = self.run_step(ids.to(DEVICE, non_blocking=True))
            made.append(vectors.clone() if self.compiled else vectors)  # the next replay writes over it
        return torch.cat(made).cpu()


def time_latency(peer, steps, plan):
    times = []
    while sum(times) < plan.seconds or len(times) < plan.least_runs:
        began = time.perf_counter()
        peer.run(steps)
        times.append(time.perf_counter() - began)
    times.sort()

    def percentile(share):  # the nearest rank, as ours
        return 1e3 * times[max(1, -int(-share * len(times) // 1)) - 1]
    return {"runs": len(times), "least_ms": 1e3 * times[0], "p50_ms": percentile(0.5), "p90_ms": percentile(0.9),
            "p99_ms": percentile(0.99)}


def time_throughput(peer, steps, plan):
    began, rows, runs = time.perf_counter(), 0, 0
    while time.perf_counter() - began < plan.seconds or runs < plan.least_runs:
        rows += len(peer.run(steps))
        runs += 1
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "rows_per_s": rows / seconds}


def time_peer(name, shape, options, left):
    """The last answer is looked at: what is timed must be what the model says."""
    folder = os.path.join(options.folder, shape.name)
    plan = shapes.plan_of(shape, options.tiny)
    batches = shapes.batches_of(shape, plan)
    if left() <= 0:
        say("left_out", model=shape.name, peer=name, what="all", why="no time left")
        return
    peer = Peer(name, shape, folder)
    for kind, batch in [("latency", b) for b in plan.latency] + [("throughput", b) for b in plan.throughput]:
        if left() <= 0:
            say("left_out", model=shape.name, peer=name, what=f"{kind} {batch}", why="no time left")
            continue
        try:
            steps = peer.prepare(batches[batch], plan)
            for _ in range(3):
                vectors = peer.run(steps)
            lengths = vectors.norm(dim=1)
            if vectors.shape != (len(batches[batch]), shape.hidden) or not torch.allclose(lengths, torch.ones_like(lengths), atol=1e-2):
                raise ValueError(f"vectors of shape {tuple(vectors.shape)}, lengths {lengths.min():.3f} to {lengths.max():.3f}")
            timed = (time_latency if kind == "latency" else time_throughput)(peer, steps, plan)
            say(kind, model=shape.name, peer=name, name=batch, **timed)
        except Exception as error:  # memory, a compiler that is missing: others may still work
            say("left_out", model=shape.name, peer=name, what=f"{kind} {batch}", why=f"{type(error).__name__}: {error}".split("\n")[0][:300])


def time_all(options):
    """Each peer and model gets an equal share of the time that is left when its turn comes."""
    began = time.perf_counter()
    turns = [(name, shape) for name in options.peers.split(",") for shape in options.shapes]
    for turn, (name, shape) in enumerate(turns):
        now = time.perf_counter()
        until = now + (options.budget - (now - began)) / (len(turns) - turn)
        time_peer(name, shape, options, lambda: until - time.perf_counter())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["make", "time"])
    parser.add_argument("folder")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--models")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--budget", type=float, default=600)
    options = parser.parse_args()
    options.shapes = shapes.named(options.models, options.tiny)
    os.environ["HF_HUB_OFFLINE"] = "1"
    with torch.inference_mode(options.command == "time"), torch.no_grad():
        make(options) if options.command == "make" else time_all(options)


if __name__ == "__main__":
    sys.exit(main())
