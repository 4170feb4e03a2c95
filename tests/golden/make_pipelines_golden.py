#!/usr/bin/env python3
"""Writes pipelines.jsonl: small tokenizer.json files for each post-processor, decoder, truncation and padding, with the
answers of tokenizers 0.22.2 to texts of our own.

  pip install tokenizers==0.22.2
  tests/golden/make_pipelines_golden.py > tests/golden/pipelines.jsonl

A row with a "tokenizer" begins a pipeline; the rows after it are its cases (tests/golden/golden_case.h). Byte offsets
are made of the wheel's code point offsets.
"""
import itertools
import json
import random

import tokenizers
from tokenizers import Tokenizer

RANDOM = random.Random(23)
MARK = "\u2581"

# Words of ours, letters, what decoders look at, and pieces with blanks at their ends.
PIECES = ["<s>", "<pad>", "</s>", "<unk>"] + [MARK, MARK + MARK, MARK + "the", MARK + "heron", MARK + "stood", MARK + "b",
          "an", "k", "er", "ing", ".", ",", "?", "!", "'", "n't", MARK + "n't", MARK + ".", MARK + ",", "\u00e9", "\u6771", "\u4eac",
          "##ing", "##s", "\u0120w", "w\u0120", "a", "b", "c", "d", "e", "f", "g", "h", "i", "l", "m", "n", "o", "r", "s", "t", "u", "w"]
PIECES += [f"<0x{byte:02X}>" for byte in (0x0A, 0x20, 0x41, 0x80, 0xA9, 0xC3, 0xE2, 0x96, 0x81, 0xF0, 0x9F, 0x98, 0xFF)]
PIECES += ["<0xc3>", "<0x+9>", "<0xG0>", "<0x4>"]
VOCAB = [[piece, 0.0 if piece.startswith("<") and len(piece) < 6 else -1.0 - 0.37 * (i % 11) - 0.01 * i]
         for i, piece in enumerate(PIECES)]

TEXTS = ["", " ", "the heron stood", "the heron stood. the bank, the heron", "\u6771\u4eac the \u00e9", "t\tt \tx\t",
         "x\u00a0y \u3000z\u3000", "\u3000\u3000the\u3000", "a bc def", "<s> the</s> heron", "the  \n<mask>  heron \t", "  <keep>  b",
         "w w ww", "a\r\n\r\nb"]
PAIRS = [("the heron", "stood"), ("", "the heron stood"), ("the heron stood", ""), ("", ""), ("the heron stood the heron", "the bank"),
         ("b", "the heron stood the heron stood the"), ("\tx the heron y\t", "\u3000x\u00a0 <mask>")]


def added(token_id, content, **flags):
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True, **flags}


ADDED = [added(0, "<s>"), added(1, "<pad>"), added(2, "</s>"), added(3, "<unk>"), added(len(PIECES), "<mask>", lstrip=True),
         added(len(PIECES) + 1, "<keep>", lstrip=True, rstrip=True, special=False)]
METASPACE = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}
SPLIT = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}
SPECIALS = {name: {"id": name, "ids": ids, "tokens": names} for name, ids, names in
            [("<s>", [0], ["<s>"]), ("</s>", [2], ["</s>"]), ("[M]", [len(PIECES), 2], ["<mask>", "</s>"])]}


def template(single, pair):
    def pieces(text):
        out = []
        for part in text.split():
            name, type_id = part.rsplit(":", 1)
            kind = ("Sequence", name[1:]) if name.startswith("$") else ("SpecialToken", name)
            out.append({kind[0]: {"id": kind[1], "type_id": int(type_id)}})
        return out
    return {"type": "TemplateProcessing", "single": pieces(single), "pair": pieces(pair), "special_tokens": SPECIALS}


XLMR = template("<s>:0 $A:0 </s>:0", "<s>:0 $A:0 </s>:0 </s>:0 $B:0 </s>:0")
NAMED = {"sep": ["</s>", 2], "cls": ["<s>", 0]}


def roberta(trim, prefix):
    return {"type": "RobertaProcessing", **NAMED, "trim_offsets": trim, "add_prefix_space": prefix}


def byte_level(trim, prefix):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": trim, "use_regex": True}


def in_sequence(*processors):
    return {"type": "Sequence", "processors": list(processors)}


def truncation(max_length, strategy="LongestFirst", stride=0, direction="Right"):
    return {"direction": direction, "max_length": max_length, "strategy": strategy, "stride": stride}


def padding(strategy, direction="Right", multiple=None, pad_id=1, type_id=0):
    return {"strategy": strategy, "direction": direction, "pad_to_multiple_of": multiple, "pad_id": pad_id,
            "pad_type_id": type_id, "pad_token": "<pad>"}


def decoders(*steps):
    return {"type": "Sequence", "decoders": list(steps)}


def replace(pattern, content):
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def strip(content, start, stop):
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


BYTES, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
POST_PROCESSORS = {
    "none": None, "template": XLMR, "bert": {"type": "BertProcessing", **NAMED}, "bert_by_fields": {"type": "X", **NAMED},
    "template_multi": template("[M]:3 $A:0", "$B:4 [M]:1 $A:2 </s>:5"), "template_no_special": template("$A:1", "$A:0 $B:0"),
    "byte_level": byte_level(True, False), "byte_level_keep": byte_level(True, True), "byte_level_off": byte_level(False, True),
    "sequence_one": in_sequence(XLMR), "sequence_none": in_sequence(),
    "sequence_trim": in_sequence(byte_level(True, True), template("<s>:0 $A:0", "<s>:0 $A:0 </s>:0 $B:1")),
    "sequence_trim_behind": in_sequence(XLMR, byte_level(True, False)),
    "sequence_nested": in_sequence(in_sequence(byte_level(False, True)), in_sequence({"type": "BertProcessing", **NAMED})),
    **{f"roberta_{trim}_{prefix}": roberta(trim, prefix) for trim, prefix in itertools.product([True, False], repeat=2)},
}
DECODERS = {
    "none": None, "metaspace": METASPACE, "empty_sequence": decoders(), "fuse": FUSE, "byte_fallback": BYTES,
    "llama": decoders(replace(MARK, " "), BYTES, FUSE, strip(" ", 1, 0)), "replace_longer": decoders(replace("e", "<ee>"), METASPACE),
    "replace_gone": replace("er", ""), "replace_after_fuse": decoders(FUSE, replace("rb", "R" * 9), replace("n" + MARK, "-")),
    "strip_each": decoders(strip(MARK, 2, 0), strip("e", 1, 0)), "strip_both": decoders(strip(MARK, 1, 0), replace("", "") if False else FUSE, strip("k", 0, 1)),
    "strip_stop": strip("k", 0, 1), "wordpiece": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "wordpiece_rough": decoders({"type": "WordPiece", "prefix": "##", "cleanup": False}, METASPACE),
    "wordpiece_fused": decoders(replace(MARK, " "), FUSE, {"type": "WordPiece", "prefix": "", "cleanup": True}),
    "metaspace_twice": decoders(METASPACE, {**METASPACE, "replacement": "e", "prepend_scheme": "never"}),
    "bytes_metaspace": decoders(BYTES, METASPACE), "bytes_after_fuse": decoders(FUSE, BYTES),
}
SECTIONS = {
    "cut_5": (truncation(5), None), "cut_6_stride_1": (truncation(6, stride=1), None), "cut_4": (truncation(4), None),
    "cut_2": (truncation(2), None), "cut_1": (truncation(1), None), "cut_0": (truncation(0), None),
    "left_6_stride_1": (truncation(6, stride=1, direction="Left"), None), "left_5": (truncation(5, direction="Left"), None),
    "first_6": (truncation(6, "OnlyFirst"), None), "first_8_stride_2": (truncation(8, "OnlyFirst", 2), None),
    "second_8": (truncation(8, "OnlySecond"), None), "second_8_stride_1": (truncation(8, "OnlySecond", 1), None),
    "stride_4_of_7": (truncation(7, stride=4), None),
    "pad_fixed": (None, padding({"Fixed": 9})), "pad_left": (None, padding({"Fixed": 9}, "Left", None, 7, 3)),
    "pad_multiple": (None, padding("BatchLongest", multiple=4)), "pad_short": (None, padding({"Fixed": 2}, multiple=3)),
    "both": (truncation(6, stride=1), padding({"Fixed": 6})), "both_left": (truncation(7, stride=2, direction="Left"), padding("BatchLongest", "Left", 8)),
}


def file_of(**parts):
    model = {"type": "Unigram", "unk_id": 3, "vocab": VOCAB, "byte_fallback": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": ADDED, "normalizer": None,
            "pre_tokenizer": SPLIT, "post_processor": None, "decoder": METASPACE, "model": model, **parts}


def row(**fields):
    print(json.dumps(fields, ensure_ascii=True, separators=(",", ":")))


def columns(encoding, texts):
    """Without what the reader takes for granted."""
    ends = [[0] + list(itertools.accumulate(len(c.encode()) for c in text)) for text in texts]
    in_bytes = [[0, 0] if sequence is None else [ends[sequence][begin], ends[sequence][end]]
                for (begin, end), sequence in zip(encoding.offsets, sequences_of(encoding, texts))]
    out = {"ids": encoding.ids, "byte_offsets": in_bytes}
    in_characters = [list(offset) for offset in encoding.offsets]
    if in_characters != in_bytes:
        out["char_offsets"] = in_characters
    for name, usual in (("type_ids", 0), ("special_tokens_mask", 0), ("attention_mask", 1)):
        if any(value != usual for value in getattr(encoding, name)):
            out[name] = getattr(encoding, name)
    return out


def sequences_of(encoding, texts):
    """Which text each token is of. The wheel forgets it for overflow, and for one text without post-processor; the
    template of pairs that overflow here has two specials between the texts."""
    special = [one and seen for one, seen in zip(encoding.special_tokens_mask, encoding.attention_mask)]  # no padding
    if len(texts) == 1:
        return [None if one else 0 for one in encoding.special_tokens_mask]
    if sum(special) < 4 or 0 in encoding.sequence_ids or 1 in encoding.sequence_ids:
        return encoding.sequence_ids
    between = [i for i, one in enumerate(special) if one][1]
    return [None if one else int(i > between) for i, one in enumerate(encoding.special_tokens_mask)]


def cases(name, tokenizer):
    number = itertools.count()
    for texts in [(t,) for t in TEXTS] + PAIRS:
        if len(texts) > 1 and "trim_behind" in name:
            continue  # the wheel's sequence ids are not those of the texts there
        for special in (True, False):
            about = {"name": f"{name}-{next(number):02}", "text": texts[0], "options": {"add_special_tokens": special}}
            if len(texts) > 1:
                about["pair"] = texts[1]
            try:
                encoding = tokenizer.encode(*texts, add_special_tokens=special)
            except BaseException as error:  # a panic is no Exception
                row(**about, expect_error=str(error)[:80] or "panic")
                continue
            if encoding.overflowing and len(texts) > 1 and not special:
                continue  # nothing tells the texts apart
            overflow = [columns(one, texts) for one in encoding.overflowing]
            row(**about, **columns(encoding, texts), **({"overflowing": overflow} if overflow else {}))


def decode_cases(name, tokenizer, count):
    for number in range(count):
        ids = [RANDOM.randrange(len(PIECES) + 4) for _ in range(RANDOM.randint(0, 9))]
        try:
            texts = {"decoded": tokenizer.decode(ids, skip_special_tokens=False),
                     "decoded_skip_special": tokenizer.decode(ids, skip_special_tokens=True)}
        except BaseException:
            row(name=f"{name}-decode-{number:02}", decode_ids=ids, decode_error=True)
            continue
        stream, steps = tokenizers.decoders.DecodeStream(skip_special_tokens=False), []
        for one in ids:
            try:
                steps.append(stream.step(tokenizer, one))
            except BaseException as error:
                steps.append({"error": str(error)[:60]})
        row(name=f"{name}-decode-{number:02}", decode_ids=ids, **texts, stream_steps=steps)


# Special tokens that others begin or end with, before and after normalization.
OVERLAPPING = [added(len(PIECES) + 2, "[x]"), added(len(PIECES) + 3, "x]", special=False), added(len(PIECES) + 4, "[x]y", special=False),
               added(len(PIECES) + 5, "er", normalized=True), added(len(PIECES) + 6, "ero", special=False, normalized=True)]


def passed_over(name, **parts):
    """encode_special_tokens: no special token is looked for in text."""
    made = file_of(**parts)
    row(pipeline=name, tokenizer=made)
    tokenizer = Tokenizer.from_str(json.dumps(made))
    tokenizer.encode_special_tokens = True
    texts = TEXTS + ["[x]", "[x]y", "a[x]b x] [x", "the heron <s>er", "[[x]y]<mask>[x]"]
    for number, text in enumerate(texts):
        row(name=f"{name}-{number:02}", text=text, options={"add_special_tokens": True, "encode_special_tokens": True},
            **columns(tokenizer.encode(text), (text,)))


def pipeline(name, decode, **parts):
    made = file_of(**parts)
    row(pipeline=name, tokenizer=made)
    tokenizer = Tokenizer.from_str(json.dumps(made))
    if decode:
        decode_cases(name, tokenizer, decode)
    else:
        cases(name, tokenizer)


def main():
    assert tokenizers.__version__ == "0.22.2", tokenizers.__version__
    row(about="post-processors, decoders, sections", reference="tokenizers 0.22.2", written_by="tests/golden/make_pipelines_golden.py")
    for name, post_processor in POST_PROCESSORS.items():
        pipeline(f"post_{name}", 0, post_processor=post_processor)
        # Where blanks stay in the text.
        if "roberta" in name or "level" in name or "trim" in name:
            pipeline(f"post_{name}_blanks", 0, post_processor=post_processor, pre_tokenizer={**METASPACE, "split": False})
    for name, decoder in DECODERS.items():
        pipeline(f"decoder_{name}", 30, decoder=decoder)
    for name, (cut, pad) in SECTIONS.items():
        pipeline(f"section_{name}", 0, truncation=cut, padding=pad, post_processor=XLMR)
    passed_over("passed_over", post_processor=XLMR, added_tokens=ADDED + OVERLAPPING)
    passed_over("passed_over_lowercase", post_processor=XLMR, added_tokens=ADDED + OVERLAPPING, normalizer={"type": "Lowercase"})
    pipeline("section_roberta_cut", 0, truncation=truncation(6, stride=1), post_processor=roberta(True, True), pre_tokenizer=None)


if __name__ == "__main__":
    main()
