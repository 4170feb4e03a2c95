#!/usr/bin/env python3
"""tests/golden/sp_sampling.jsonl through libtrellis_c: n-best lists and what each seed draws, as the wheel's; and calls
with too little room.

  sampling_golden_test.py --library build/release/libtrellis_c.so
"""
import argparse
import ctypes as c
import json
import os
import sys

from golden_test import ROOT, Columns, Library, Offset, Text

RESOURCE_EXHAUSTED = 8
MOST_ROWS = 1024


class Ways:
    """One model's n-best lists and samples, in columns of any size."""

    def __init__(self, library, name):
        self.library = Library(library, os.path.join(ROOT, "tests", "golden", "sp_models", name + ".model"))
        self.c, self.why = self.library.c, self.library.why
        self.room(1 << 17)

    def room(self, tokens, rows=MOST_ROWS):
        self.ids, self.offsets = (c.c_int32 * tokens)(), (Offset * tokens)()
        self.rows, self.scores = (c.c_int32 * (rows + 1))(), (c.c_float * rows)()
        self.columns = Columns(struct_size=c.sizeof(Columns), capacity=tokens, cu_seqlens_capacity=rows + 1,
                               ids=c.cast(self.ids, c.POINTER(c.c_int32)), offsets=c.cast(self.offsets, c.POINTER(Offset)),
                               cu_seqlens=c.cast(self.rows, c.POINTER(c.c_int32)))

    def nbest(self, text, count):
        return self.c.trellis_encode_nbest(self.library.tokenizer, c.byref(Text(text, len(text))), c.c_size_t(count),
                                           c.byref(self.columns), self.scores, c.c_size_t(len(self.scores)), self.why,
                                           c.c_size_t(512))

    def sample(self, text, row, random):
        return self.c.trellis_encode_sample(self.library.tokenizer, c.byref(Text(text, len(text))), c.c_int32(row["nbest_size"]),
                                            c.c_float(row["alpha"]), random, c.byref(self.columns), self.scores, self.why,
                                            c.c_size_t(512))

    def lists(self):
        ends = self.rows[:self.columns.num_rows + 1]
        return [self.ids[begin:end] for begin, end in zip(ends, ends[1:])]


def samples_of(ways, text, row):
    random = c.c_void_p()
    ways.library.must(ways.c.trellis_random_create(c.c_uint32(row["seed"]), c.byref(random)))
    got = []
    for _ in row["ids"]:
        # No room first: what is drawn then must be what would have been drawn.
        ways.room(0)
        status = ways.sample(text, row, random)
        needed = ways.columns.needed_tokens
        if status != (RESOURCE_EXHAUSTED if needed else 0):
            sys.exit(f"sampling_golden_test: without room: status {status}: {ways.why.value.decode()}")
        if needed:
            ways.room(needed, 1)
            ways.library.must(ways.sample(text, row, random))
        got += ways.lists()
    ways.c.trellis_random_free(random)
    return got


def nbest_of(ways, text, row):
    ways.room(1 << 17)
    ways.library.must(ways.nbest(text, row["count"]))
    got, needed = ways.lists(), ways.columns.needed_tokens
    scores = ways.scores[:len(got)]
    # The order is by sums in floats from the other end: equal ones can come a rounding apart.
    if any(later > earlier + 1e-5 * abs(earlier) for earlier, later in zip(scores, scores[1:])):
        sys.exit(f"sampling_golden_test: scores are not best first: {scores}")
    if len(got) > 1:
        for tokens, rows in ((needed - 1, len(got)), (needed, len(got) - 1)):
            ways.room(tokens, rows)
            if ways.nbest(text, row["count"]) != RESOURCE_EXHAUSTED:
                sys.exit(f"sampling_golden_test: {tokens} tokens and {rows} rows are enough for {len(got)}")
    return got


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    library = parser.parse_args().library
    models, looked_at, different = {}, 0, 0
    with open(os.path.join(ROOT, "tests", "golden", "sp_sampling.jsonl"), "rb") as f:
        rows = [row for row in map(json.loads, f) if "kind" in row]
    for row in rows:
        if row["model"] not in models:
            models[row["model"]] = Ways(library, row["model"])
        got = (nbest_of if row["kind"] == "nbest" else samples_of)(models[row["model"]], row["text"].encode(), row)
        looked_at += 1
        if got != row["ids"]:
            different += 1
            print(row["kind"], row["model"], repr(row["text"]), f"got {got}", f"want {row['ids']}", sep="\n  ")
    print(f"sampling_golden_test: {looked_at} rows, {different} differ")
    sys.exit(different != 0 or looked_at < 1000)


if __name__ == "__main__":
    main()
