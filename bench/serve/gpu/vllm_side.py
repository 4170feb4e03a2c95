"""vLLM's part of tools/gpu_check, as a child for one model: the same weights and rows, its own batching.

  vllm_side.py FOLDER NAME --budget S      the model in FOLDER/NAME; a line of JSON a finding, as torch_side.py time
"""
import argparse
import os
import time

import shapes
from torch_side import say, time_latency, time_throughput


class Vllm:
    def __init__(self, folder, longest):
        from vllm import LLM
        # It would take most of the GPU for a cache that encoders do not have; and rows that come again are computed again.
        self.model = LLM(model=folder, runner="pooling", dtype="bfloat16", skip_tokenizer_init=True, max_model_len=longest,
                         gpu_memory_utilization=0.5, enable_prefix_caching=False)

    def run(self, prompts):
        return self.model.embed(prompts, use_tqdm=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("name")
    parser.add_argument("--budget", type=float, default=600)
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    began = time.perf_counter()
    shape = shapes.named(options.name, False)[0]
    plan = shapes.plan_of(shape, False)
    batches = shapes.batches_of(shape, plan)
    peer = Vllm(os.path.join(options.folder, shape.name), shape.longest)
    for kind, batch in [("latency", b) for b in plan.latency] + [("throughput", b) for b in plan.throughput]:
        if time.perf_counter() - began >= options.budget:
            say("left_out", model=shape.name, peer="vllm", what=f"{kind} {batch}", why="no time left")
            continue
        prompts = [{"prompt_token_ids": row} for row in batches[batch]]
        for _ in range(3):
            if len(peer.run(prompts)) != len(prompts):
                raise ValueError(f"{batch}: not a vector a row")
        say(kind, model=shape.name, peer="vllm", name=batch, **(time_latency if kind == "latency" else time_throughput)(peer, prompts, plan))


if __name__ == "__main__":
    main()
