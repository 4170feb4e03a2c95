#!/usr/bin/env python3
"""Writes xlnet.jsonl: what tokenizers 0.22.2 answers for XLNet's own tokenizer.json (xlnet-base-cased) to texts of ours.

  pip install tokenizers==0.22.2
  tests/golden/make_xlnet_golden.py xlnet_base_cased.json > tests/golden/xlnet.jsonl

The file itself is not in this repository (tests/golden/xlnet_test.cc says where it is looked for).
"""
import json
import sys

import tokenizers
from make_pipelines_golden import columns, row

TEXTS = ["", " ", "\u2581", "The heron stood in the reeds.", "THE HERON", "``quoted'' and ''again``", "it's 1,999.50 kg -- or so",
         "caf\u00e9 Tie\u0302\u0301ng Vie\u0323\u0302t \u00c5ngstr\u00f6m", "\ufb01ne \u2460 \uff21\uff22 \u337f \ufdfa", "\u6771\u4eac \U0001f600 x\U00013000y",
         "a\tb\nc\u00a0d\u3000e\u2003f", "  two  blanks  ", "soft\u00adhyphen zero\u200bwidth\u200djoin", "<unk> <s></s><cls><sep><pad>",
         "<mask>heron  <mask>  stood", "\uff1cs\uff1e <eop><eod>", "x" * 90, "\u0e17\u0e33 \u1100\u1161\u11a8 \u0930\u094d", "a\u2581b \u2581\u2581c"]
PAIRS = [("the heron", "stood in the reeds"), ("", "only a second"), ("only a first", ""), ("a <sep> b", "``c''")]
CUTS = [(6, "LongestFirst", 0, "Right"), (7, "LongestFirst", 2, "Left"), (8, "OnlyFirst", 1, "Right"), (9, "OnlySecond", 0, "Left")]
LEFT = {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 5, "pad_type_id": 3, "pad_token": "<pad>"}


def main():
    assert tokenizers.__version__ == "0.22.2", tokenizers.__version__
    tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
    row(about="xlnet-base-cased", reference="tokenizers 0.22.2", written_by="tests/golden/make_xlnet_golden.py")
    number = 0

    def case(texts, special, truncation=None, padding=None):
        nonlocal number
        number += 1
        tokenizer.no_truncation()
        tokenizer.no_padding()
        options = {"add_special_tokens": special}
        if truncation:
            length, strategy, stride, direction = truncation
            options["truncation"] = {"max_length": length, "strategy": strategy, "stride": stride, "direction": direction}
            names = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
            tokenizer.enable_truncation(length, stride=stride, strategy=names[strategy], direction=direction.lower())
        if padding:
            options["padding"] = padding
            tokenizer.enable_padding(direction=padding["direction"].lower(), pad_id=padding["pad_id"], pad_type_id=padding["pad_type_id"],
                                     pad_token=padding["pad_token"], pad_to_multiple_of=padding["pad_to_multiple_of"])
        about = {"name": f"xlnet-{number:03}", "text": texts[0], "options": options}
        if len(texts) > 1:
            about["pair"] = texts[1]
        try:
            encoding = tokenizer.encode(*texts, add_special_tokens=special)
        except BaseException:  # a panic is no Exception
            return row(**about, expect_error="panic: no room for a stride")
        answer = columns(encoding, texts)
        if len(texts) == 1:  # nothing tells the texts of a pair's overflow apart here
            answer["overflowing"] = [columns(one, texts) for one in encoding.overflowing]
        if not special:
            answer["tokens"] = encoding.tokens
        if not truncation and not padding:
            answer["decoded"] = tokenizer.decode(encoding.ids, skip_special_tokens=False)
            answer["decoded_skip_special"] = tokenizer.decode(encoding.ids, skip_special_tokens=True)
            stream = tokenizers.decoders.DecodeStream(skip_special_tokens=False)
            answer["stream_steps"] = [stream.step(tokenizer, one) for one in encoding.ids]
        row(**about, **answer)

    for texts in [(text,) for text in TEXTS] + PAIRS:
        for special in (True, False):
            case(texts, special)
        case(texts, True, padding=LEFT)
        for cut in CUTS:
            if len(texts) > 1 or cut[1] != "OnlySecond":
                case(texts, True, truncation=cut)


if __name__ == "__main__":
    main()
