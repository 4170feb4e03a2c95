#!/usr/bin/env python3
"""Peers that are reached through their Python wheels, with the timing protocol of ../hf/rounds.rs.

Python calls them, so every time holds the cost of the call and of handing back a numpy array: the time of an encode of
the empty text is measured in the same process and printed with each label as "call_us". It is not subtracted.
Allocations of C code cannot be seen from here and are null.

  wheel_peer.py iree|sentencepiece MODEL TEXTS.json --mode repeated|fresh|once|ids
"""

import argparse
import json
import sys
import time

FRESH_PASSES = 9
WARM_UP_SECONDS = 0.05
MEASURED_SECONDS = 0.25
FEWEST_SAMPLES = 31
MOST_SAMPLES = 20_000


def iree(model):
    import iree.tokenizer

    # Quicker than encode, which builds a list of Python integers.
    return iree.tokenizer.Tokenizer.from_file(model).encode_to_array


def sentencepiece(model):
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    return lambda text: processor.encode(text, return_type="numpy")


def clock_cost():
    """Microseconds between two readings of the clock with nothing between them; taken off every sample."""
    costs = (-(time.perf_counter_ns() - time.perf_counter_ns()) / 1000 for _ in range(10_000))
    return min(cost for cost in costs if cost > 0)


CLOCK_COST = clock_cost()


def time_one(encode, text):
    begin = time.perf_counter_ns()
    ids = encode(text)
    spent = (time.perf_counter_ns() - begin) / 1000
    return max(0.0, spent - CLOCK_COST), len(ids)


def repeated(encode, texts):
    """Each text alone in a loop, after a warm-up that also sizes the loop; with the sum of the texts' medians."""
    times, total, tokens = [], 0.0, 0
    for text in texts:
        begin, calls = time.perf_counter(), 0
        while calls < 3 or time.perf_counter() - begin < WARM_UP_SECONDS:
            time_one(encode, text)
            calls += 1
        each = (time.perf_counter() - begin) / calls
        samples = min(max(int(MEASURED_SECONDS / each), FEWEST_SAMPLES), MOST_SAMPLES)
        found = sorted(time_one(encode, text) for _ in range(samples))
        total += found[len(found) // 2][0]
        tokens += found[0][1]
        times += [microseconds for microseconds, _ in found]
    return times, total, tokens


def fresh(encode, labels, passes):
    """Labels interleaved round-robin over their texts, every text once a pass; of each label the median pass."""
    of_label = {name: [] for name in labels}
    for _ in range(passes):
        for found in of_label.values():
            found.append(([], []))
        for turn in range(max(map(len, labels.values()), default=0)):
            for name, texts in labels.items():
                if turn < len(texts):
                    microseconds, count = time_one(encode, texts[turn])
                    of_label[name][-1][0].append(microseconds)
                    of_label[name][-1][1].append(count)
    for name, found in of_label.items():
        times, counts = sorted(found, key=lambda one: sum(one[0]))[passes // 2]
        yield name, times, sum(times), sum(counts)


def call_cost(encode):
    return sorted(time_one(encode, "")[0] for _ in range(1000))[500]


def report(name, texts, times, total, tokens, call_us):
    ordered = sorted(times)
    p50, p99 = (ordered[min(len(ordered) * percent // 100, len(ordered) - 1)] for percent in (50, 99))
    print(json.dumps({
        "label": name, "texts": len(texts), "tokens": tokens, "bytes": sum(len(t.encode()) for t in texts),
        "p50_us": round(p50, 3), "p99_us": round(p99, 3), "us_per_512_tokens": round(total * 512 / max(tokens, 1), 3),
        "allocations": None, "call_us": round(call_us, 3)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=["iree", "sentencepiece"])
    parser.add_argument("model")
    parser.add_argument("texts")
    parser.add_argument("--mode", choices=["repeated", "fresh", "once", "ids"], required=True)
    parser.add_argument("--iterations", type=int, help="repeated: encode each text so often, print nothing")
    options = parser.parse_args()
    labels = {}
    with open(options.texts, encoding="utf-8") as file:
        for name, text in json.load(file):
            labels.setdefault(name, []).append(text)
    encode = {"iree": iree, "sentencepiece": sentencepiece}[options.peer](options.model)
    encode("")  # the wheels import numpy only now, which would be charged to the first text of a fresh process
    if options.mode == "ids":
        for texts in labels.values():
            for text in texts:
                sys.stdout.write(" ".join(map(str, encode(text))) + "\n")
    elif options.iterations:
        for texts in labels.values():
            for text in texts:
                for _ in range(options.iterations):
                    encode(text)
    elif options.mode == "repeated":
        call_us = call_cost(encode)
        for name, texts in labels.items():
            report(name, texts, *repeated(encode, texts), call_us)
    else:
        # The empty text comes last: a fresh process is to stay fresh.
        found = list(fresh(encode, labels, 1 if options.mode == "once" else FRESH_PASSES))
        call_us = call_cost(encode)
        for name, times, total, tokens in found:
            report(name, labels[name], times, total, tokens, call_us)


if __name__ == "__main__":
    main()
