#!/usr/bin/env python3
"""The golden and case files through libtrellis_c, which Python loads with ctypes: ids, offsets, type ids, masks, decoded text.

  golden_test.py --library build/release/libtrellis_c.so [--model models/multilingual-e5-small]

Also the files that TRELLIS_CASES names; says loudly when it is not set. Expected values are the reference's, from the
files; offsets in code points follow from byte offsets.
"""
import argparse
import base64
import ctypes as c
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHOWN = 10
STRATEGIES = {"LongestFirst": 1, "OnlyFirst": 2, "OnlySecond": 3}
INVALID_ARGUMENT = 3


class Text(c.Structure):
    _fields_ = [("bytes", c.c_char_p), ("size", c.c_size_t)]


class Input(c.Structure):
    _fields_ = [("text", Text), ("pair", Text)]


class Offset(c.Structure):
    _fields_ = [("begin", c.c_uint32), ("end", c.c_uint32)]


class EncodeOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("no_special_tokens", c.c_uint32), ("shield", c.c_uint32),
                ("truncate", c.c_uint32), ("truncation_side", c.c_uint32), ("max_length", c.c_size_t),
                ("stride", c.c_size_t), ("cut_nothing", c.c_uint32), ("reserved", c.c_uint32)]


class DecodeOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("keep_special_tokens", c.c_uint32), ("clean_up", c.c_uint32)]


class Columns(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("capacity", c.c_size_t), ("ids", c.POINTER(c.c_int32)),
                ("offsets", c.POINTER(Offset)), ("type_ids", c.POINTER(c.c_uint8)),
                ("special_tokens_mask", c.POINTER(c.c_uint8)), ("attention_mask", c.POINTER(c.c_uint8)),
                ("cu_seqlens", c.POINTER(c.c_int32)), ("cu_seqlens_capacity", c.c_size_t), ("num_tokens", c.c_size_t),
                ("num_rows", c.c_size_t), ("num_truncated", c.c_size_t), ("needed_tokens", c.c_size_t),
                ("needed_rows", c.c_size_t)]


class Library:
    """A tokenizer and its room, for one thread."""

    def __init__(self, path, model):
        self.c = c.CDLL(path)
        for name in ("trellis_scratch_bytes", "trellis_max_tokens", "trellis_decoded_bytes"):
            getattr(self.c, name).restype = c.c_size_t
        self.why = c.create_string_buffer(512)
        self.tokenizer, self.scratch = c.c_void_p(), c.c_void_p()
        self.must(self.c.trellis_tokenizer_load(os.fsencode(model), None, c.byref(self.tokenizer), self.why, c.c_size_t(512)))
        self.must(self.c.trellis_scratch_create(c.byref(self.scratch)))
        self.room = 0

    def must(self, status):
        if status != 0:
            sys.exit(f"golden_test: status {status}: {self.why.value.decode()}")

    def reserve(self, size):
        self.must(self.c.trellis_scratch_reserve(
            self.scratch, c.c_size_t(self.c.trellis_scratch_bytes(self.tokenizer, c.c_size_t(size)))))
        most = self.c.trellis_max_tokens(self.tokenizer, c.c_size_t(size))
        if most > self.room:
            self.room = 2 * most
            self.memory = [(kind * self.room)() for kind in (c.c_int32, Offset, c.c_uint8, c.c_uint8, c.c_uint8)]

    def encode(self, text, pair, options):
        """(status, columns)"""
        self.reserve(len(text) + len(pair or b""))
        ids, offsets, type_ids, special, attention = (c.cast(m, c.POINTER(m._type_)) for m in self.memory)
        columns = Columns(struct_size=c.sizeof(Columns), capacity=self.room, ids=ids, offsets=offsets, type_ids=type_ids,
                          special_tokens_mask=special, attention_mask=attention)
        given = Input(Text(text, len(text)), Text(pair, len(pair or b"")))
        status = self.c.trellis_encode(self.tokenizer, c.byref(given), c.byref(options), self.scratch, c.byref(columns),
                                       self.why, c.c_size_t(512))
        return status, columns

    def to_code_points(self, text, columns):
        given = Text(text, len(text))
        self.must(self.c.trellis_offsets_to_code_points(c.byref(given), self.scratch, columns.offsets,
                                                        c.c_size_t(columns.num_tokens), self.why, c.c_size_t(512)))

    def decode(self, ids, skip_special):
        row = (c.c_int32 * len(ids))(*ids)
        room = self.c.trellis_decoded_bytes(self.tokenizer, row, c.c_size_t(len(ids)))
        text, size = c.create_string_buffer(room + 1), c.c_size_t()
        options = DecodeOptions(c.sizeof(DecodeOptions), 0 if skip_special else 1, 0)
        self.must(self.c.trellis_decode(self.tokenizer, row, c.c_size_t(len(ids)), c.byref(options), text, c.c_size_t(room),
                                        c.byref(size), self.why, c.c_size_t(512)))
        return text.raw[:size.value].decode()


def options_of(row):
    given = row.get("options", {})
    options = EncodeOptions(struct_size=c.sizeof(EncodeOptions))
    options.no_special_tokens = 0 if given.get("add_special_tokens", False) else 1
    if truncation := given.get("truncation"):
        options.truncate = STRATEGIES[truncation["strategy"]]
        options.truncation_side = 1 if truncation["direction"] == "Left" else 0
        options.max_length = truncation["max_length"]
        options.stride = truncation["stride"]
    return options


def in_code_points(text, offsets):
    return [[len(text[:at].decode()) for at in offset] for offset in offsets]


def check(library, row):
    """What differs, in words; empty: nothing."""
    if "ids_if_replaced" in row or set(row.get("options", {})) - {"add_special_tokens", "truncation"}:
        return None  # malformed text and padding: tests/golden has them through the library
    out = []

    def compare(what, got, want):
        if got != want:
            out.append(f"{what}: got {got}, want {want}")

    ids = row.get("decode_ids", row.get("ids"))
    if "ids" in row or "expect_error" in row:
        text = base64.b64decode(row["text_base64"]) if "text_base64" in row else row["text"].encode()
        pair = row["pair"].encode() if "pair" in row else None
        status, columns = library.encode(text, pair, options_of(row))
        if "expect_error" in row:
            compare("status", status, INVALID_ARGUMENT)
            compare("message is empty", library.why.value == b"", False)
            return out
        if status != 0:
            return [f"status {status}: {library.why.value.decode()}"]
        count = columns.num_tokens
        compare("ids", columns.ids[:count], row["ids"])
        compare("offsets", [[o.begin, o.end] for o in columns.offsets[:count]], row["byte_offsets"])
        compare("type ids", columns.type_ids[:count], row.get("type_ids", [0] * count))
        compare("special tokens mask", columns.special_tokens_mask[:count], row.get("special_tokens_mask", [0] * count))
        compare("attention mask", columns.attention_mask[:count], [1] * count)
        if pair is None and "text" in row:
            library.to_code_points(text, columns)
            compare("code points", [[o.begin, o.end] for o in columns.offsets[:count]], in_code_points(text, row["byte_offsets"]))
    if "decoded" in row:
        compare("decoded", library.decode(ids, False), row["decoded"])
    if "decoded_skip_special" in row:
        compare("decoded without specials", library.decode(ids, True), row["decoded_skip_special"])
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--model", default=os.environ.get("TRELLIS_MODEL", os.path.join(ROOT, "models", "multilingual-e5-small")))
    arguments = parser.parse_args()
    files = [os.path.join(ROOT, "tests", "golden", "xlmr.jsonl")]
    if cases := os.environ.get("TRELLIS_CASES"):
        files += [os.path.join(cases, name) for name in ("golden_xlmr.jsonl", "cases_xlmr.jsonl")]
    else:
        print("golden_test: TRELLIS_CASES is not set: the further cases are NOT checked")
    library = Library(arguments.library, arguments.model)
    looked_at = different = 0
    for path in files:
        with open(path, "rb") as f:
            rows = [row for row in map(json.loads, f) if "name" in row]
        for row in rows:
            found = check(library, row)
            looked_at += found is not None
            if found:
                different += 1
                if different <= SHOWN:
                    print(row["name"], *found, sep="\n  ")
    print(f"golden_test: {looked_at} cases, {different} differ")
    sys.exit(different != 0 or looked_at < 2000)


if __name__ == "__main__":
    main()
