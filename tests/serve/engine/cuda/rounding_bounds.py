#!/usr/bin/env python3
"""How far 16 bits may move a tiny model's last states: what the bounds of cuda_model_test.cc come from.

  tests/serve/engine/cuda/rounding_bounds.py [NAME...]      needs torch 2.15.0, transformers 5.24.0

transformers computes each model of tests/serve/models twice, in float64: as it is, and with its matrices and tables, and what
each product, attention, activation and LayerNorm gives, rounded to 16 bits, which is where the GPU stores. Printed in units of
one rounding (2^-9 for bf16, 2^-12 for fp16, relative): the mean over all tokens, the worst token, and the largest cosine
distance of a pooled row. Texts are random ids of 1, 7 and 40 tokens, 20 of each.
"""
import os
import sys

import torch
from transformers import AutoModel, logging

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
TYPES = {"bf16": (torch.bfloat16, 2.0**-9), "fp16": (torch.float16, 2.0**-12)}
POOLINGS = (lambda states: states.mean(0), lambda states: states[0], lambda states: states[-1])


def round_like(model, dtype):
    """Weights but LayerNorm's, which stay float; and the outputs that are stored."""
    def nearest(tensor):
        return tensor.to(dtype).to(torch.float64)

    def after(module, inputs, output):
        return (nearest(output[0]), *output[1:]) if isinstance(output, tuple) else nearest(output)

    for name, module in model.named_modules():
        norm = isinstance(module, torch.nn.LayerNorm)
        if not norm:
            for parameter in module.parameters(recurse=False):
                parameter.data = nearest(parameter.data)
        if norm or isinstance(module, torch.nn.Linear) or name.endswith(("attention.self", "intermediate_act_fn")):
            module.register_forward_hook(after)
    return model


def texts(config):
    random = torch.Generator().manual_seed(7)
    for count in (1, 7, 40) * 20:
        ids = torch.randint(5, config.vocab_size, (1, count), generator=random)
        yield ids, torch.randint(0, config.type_vocab_size, (1, count), generator=random)


def load(folder):
    return AutoModel.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()


def compare(folder, dtype, unit):
    exact, rounded = load(folder), round_like(load(folder), dtype)
    squares, lengths, worst, tokens, cosine = 0.0, 0.0, 0.0, 0, 0.0
    for ids, types in texts(exact.config):
        a, b = (model(input_ids=ids, token_type_ids=types).last_hidden_state[0] for model in (exact, rounded))
        difference, length = (a - b).norm(dim=-1), a.norm(dim=-1)
        squares, lengths = squares + (difference**2).sum().item(), lengths + (length**2).sum().item()
        worst, tokens = max(worst, (difference / length).max().item()), tokens + len(a)
        for pool in POOLINGS:
            cosine = max(cosine, 1 - torch.cosine_similarity(pool(a), pool(b), dim=0).item())
    return (squares / lengths)**0.5 / unit, worst / unit, tokens, cosine


def main():
    logging.set_verbosity_error()  # of heads and poolers that are not looked at
    for name in sys.argv[1:] or sorted(os.listdir(MODELS)):
        for of, (dtype, unit) in TYPES.items():
            with torch.no_grad():
                mean, worst, tokens, cosine = compare(os.path.join(MODELS, name), dtype, unit)
            print(f"{name} {of}: {mean:.1f} in the mean, {worst:.1f} in the worst of {tokens} tokens, "
                  f"cosine distance {cosine:.1e}", flush=True)


if __name__ == "__main__":
    main()
