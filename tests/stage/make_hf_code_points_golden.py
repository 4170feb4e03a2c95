#!/usr/bin/env python3
"""Writes hf_code_points.golden.txt: what tokenizers 0.22.2 makes of every code point, as checksums.

  pip install tokenizers==0.22.2
  tests/stage/make_hf_code_points_golden.py > tests/stage/hf_code_points.golden.txt

A line is `STEP BLOCK CRC-32`, of the wheel's answer to one text with each of the block's 4096 code points (without
surrogates), in those blocks where there are any: up to U+31FFF, and the tags at U+E0000. Where a checksum differs, ask
both sides about the block's code points one by one.
"""
import zlib

import tokenizers
from tokenizers import normalizers, pre_tokenizers

BLOCK = 4096


def bert(**flags):
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**{**off, **flags})


NORMALIZERS = {
    "nfc": normalizers.NFC(), "nfd": normalizers.NFD(), "nfkc": normalizers.NFKC(), "nfkd": normalizers.NFKD(),
    "nmt": normalizers.Nmt(), "lowercase": normalizers.Lowercase(), "strip_accents": normalizers.StripAccents(),
    "bert_clean": bert(clean_text=True), "bert_ideographs": bert(handle_chinese_chars=True), "bert_accents": bert(strip_accents=True),
}
CATEGORIES = ["L", "C", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
              "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"]
PATTERNS = [r"\s", r"\d", r"\D", r"\w", r"[^a]", *(rf"\p{{{name}}}" for name in CATEGORIES)]
PRE_TOKENIZERS = {
    "whitespace": pre_tokenizers.Whitespace(), "whitespace_split": pre_tokenizers.WhitespaceSplit(),
    "punctuation": pre_tokenizers.Punctuation("removed"), "digits": pre_tokenizers.Digits(individual_digits=True),
    "scripts": pre_tokenizers.UnicodeScripts(),
    **{f"split:{p}": pre_tokenizers.Split(tokenizers.Regex(p), "removed") for p in PATTERNS},
}


def main():
    assert tokenizers.__version__ == "0.22.2", tokenizers.__version__
    print("# tokenizers 0.22.2, written by tests/stage/make_hf_code_points_golden.py")
    for begin in [*range(0, 0x32000, BLOCK), 0xE0000]:
        block = [chr(c) for c in range(begin, begin + BLOCK) if not 0xD800 <= c < 0xE000]
        if not block:
            continue

        def line(step, answer):
            print(step, f"{begin:X}", f"{zlib.crc32(answer.encode()):08x}")

        # Starters and marks before and behind, so that letters compose and marks are sorted.
        text = "".join(f"x{c}\u0323{c}\u0301a{c}" for c in block)
        for name, step in NORMALIZERS.items():
            line(name, step.normalize_str(text))
        text = "".join(block)
        for name, step in PRE_TOKENIZERS.items():
            line(name, "|".join(piece for piece, _ in step.pre_tokenize_str(text)))


if __name__ == "__main__":
    main()
