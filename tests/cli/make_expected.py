#!/usr/bin/env python3
"""Writes expected.jsonl, what the reference (tokenizers 0.22.2) says about tiny.json.

  make_expected.py > expected.jsonl

Rows are requests of `trellis encode --jsonl` with every column of the answer, or ids with their texts. The wheel gives
offsets in code points; byte offsets follow from them.
"""
import base64
import json
import os
import sys

import tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
STRATEGIES = ("longest_first", "only_first", "only_second")

TEXTS = [
    "", " ", "hello", "hello world", "  hello   world  ", "hello\r", "héllo wörld", "日本 hello", "hell日本o",
    "hello 😀 world😀", "x hello", "xyz", "hello  <mask> world", "<s>hello</s>", "a\tb\"c\\d", "e\u0301 hello",
    "\u3000hello", "low wellow", "h" * 40,
]
PAIRS = [("hello world", "日本 wörld"), ("日本", " hello"), ("", "hello"), ("é", "  日本 é"), ("hello <mask>", "\u3000é x")]
LIMITS = [(8, "longest_first", "right"), (7, "longest_first", "left"), (9, "only_first", "right"),
          (9, "only_second", "left"), (6, "longest_first", "right")]
LONG_PAIRS = [("hello world 日本 low é wörld", "é hello"), ("日本", "hello é world é low é x"),
              ("é hello é", "日本 hello 日本"), ("hello low é 日本", "é low 日本 hello world é")]
# No reference takes malformed UTF-8: it gets U+FFFD for each maximal ill-formed
# subsequence, and code points are then the same.
MALFORMED = [b"hello \xff world", b"\xe6\x97hello\xe6", b"\xf0\x9f\x98 low\x80\x80"]
IDS = [[], [0, 5, 6, 2], [5, 6], [5, 4, 6], [3, 5], [0, 5, 2, 2, 6, 2]]


def tokenizer(name):
    with open(os.path.join(HERE, "tiny.json"), encoding="utf-8") as f:
        spec = json.load(f)
    if name == "no_template":
        spec["post_processor"] = None
    return tokenizers.Tokenizer.from_str(json.dumps(spec))


def row(model, name, request, texts):
    limit = request.get("max_length")
    model.no_truncation()
    if limit is not None:
        model.enable_truncation(limit, strategy=request.get("truncation", "longest_first"),
                                direction=request.get("truncation_side", "right"))
    try:
        encoding = model.encode(*texts, add_special_tokens=request.get("add_special_tokens", True))
    except Exception as error:
        return {"model": name, "request": request, "error": str(error)}
    to_bytes = []
    for (begin, end), sequence in zip(encoding.offsets, encoding.sequence_ids):
        text = texts[sequence or 0]
        to_bytes.append([len(text[:begin].encode()), len(text[:end].encode())])
    out = {"model": name, "request": request, "ids": encoding.ids,
           "tokens": [model.id_to_token(id) for id in encoding.ids],
           "char_offsets": [list(offset) for offset in encoding.offsets],
           "type_ids": encoding.type_ids, "special_tokens_mask": encoding.special_tokens_mask}
    if "text_base64" not in request:
        out["offsets"] = to_bytes
    return out


def rows():
    for name in ("tiny", "no_template"):
        model = tokenizer(name)
        for text in TEXTS:
            yield row(model, name, {"text": text}, [text])
            yield row(model, name, {"text": text, "add_special_tokens": False}, [text])
        for first, second in PAIRS:
            for add in (True, False):
                yield row(model, name, {"text": first, "pair": second, "add_special_tokens": add}, [first, second])
        for first, second in LONG_PAIRS:
            for add in (True, False):
                for limit, strategy, side in LIMITS:
                    request = {"text": first, "pair": second, "max_length": limit, "truncation": strategy,
                               "truncation_side": side, "add_special_tokens": add}
                    yield row(model, name, request, [first, second])
        for limit, side in ((4, "right"), (5, "left")):
            yield row(model, name, {"text": LONG_PAIRS[0][0], "max_length": limit, "truncation_side": side},
                      [LONG_PAIRS[0][0]])
        for data in MALFORMED:
            yield row(model, name, {"text_base64": base64.b64encode(data).decode()}, [data.decode(errors="replace")])
        for ids in IDS:
            yield {"model": name, "decode_ids": ids, "decoded": model.decode(ids, skip_special_tokens=False),
                   "decoded_skip_special": model.decode(ids, skip_special_tokens=True)}


def main():
    if tokenizers.__version__ != "0.22.2":
        sys.exit(f"expected tokenizers 0.22.2, found {tokenizers.__version__}")
    for one in rows():
        print(json.dumps(one, ensure_ascii=False))


if __name__ == "__main__":
    main()
