#!/usr/bin/env python3
"""Writes serde_number.golden.txt: score texts and the doubles that tokenizers reads from them.

  pip install tokenizers==0.22.2
  tests/format/make_serde_number_golden.py models/multilingual-e5-small/tokenizer.json > \
      tests/format/serde_number.golden.txt

The doubles come from the wheel alone: a Unigram tokenizer with the score is loaded and written
again; what it prints is the shortest text of the double that it holds.
"""
import json
import random
import re
import sys

import tokenizers

EDGES = """0 -0 0.0 -0.0 1 -1 3000 -1.5 0.1 -0.1 0.3 1e5 1E5 1e+5 1E+05 1e-5 2.5e-3 -7e0 123456789012345678
9007199254740993 18446744073709551615 18446744073709551616 -9223372036854775808 -9223372036854775809
-18446744073709551615 18446744073709551625 184467440737095516150 99999999999999999999999999
1844674407370955161.5 1844674407370955161.6 1844674407370955161.55 184467440737095516.159
99999999999999999999.99 100000000000000000000.5 0.1844674407370955161599 0.18446744073709551616
0.123456789012345678901234567890 12345678901234567890.123456789 1.00000000000000000000000000000001
1e22 1e23 -1e23 8.5e22 123e22 1e307 1e308 1.7976931348623157e308 1.7976931348623158e308
1.7976931348623159e308 17976931348623157e292 179769313486231570000e288 179769313486231570000e289 1e309 1e400
-1e400 0e400 0e-400 0.0e999 1e-307 1e-308 2.2250738585072014e-308 4.9e-324 2.4e-324 5e-324 1e-323 1e-330
1e-400 -1e-400 123456789e-320 12345678901234567890e-330 1e-616 18446744073709551615e-616 1e-617 1e-1000
1e2147483647 1e-2147483647 1e2147483648 -1e-2147483648 0e2147483648 0e-2147483648 0.5e2147483647
0.0000001e-2147483647 1e999999999999 -1e-999999999999 0e999999999999 1.5e00000000000000000000001
01 00 -01 1. .5 -.5 1.e5 +1 - -- 1e 1e+ 1e- 1.5e 1.5e+ 1e5.5 1.2.3 0x10 1_000 1,5 NaN nan Infinity -Infinity
inf true null "1" 1f 1d e5 1e5e5""".split()


def through_tokenizers(text):
    """The double's hex form, or "refused"."""
    document = '{"version":"1.0","model":{"type":"Unigram","unk_id":null,"vocab":[["x",%s]]}}' % text
    try:
        written = json.loads(tokenizers.Tokenizer.from_str(document).to_str())
    except Exception:
        return "refused"
    return float(written["model"]["vocab"][0][1]).hex()


def main():
    rng = random.Random(20)
    texts = list(EDGES)
    for _ in range(150):  # as printed by Python and C, all lengths and magnitudes
        value = rng.choice((-1, 1)) * rng.random() * 10.0 ** rng.randint(-20, 20)
        texts.append(rng.choice(("%r", "%.6g", "%.17g", "%.9f", "%.3e", "%.25f")) % value)
    for _ in range(60):  # near the ends of the exponent range
        digits = str(rng.randint(1, 10 ** rng.randint(1, 25)))
        texts.append("%s.%se%d" % (digits, rng.randint(0, 999999), rng.randint(-345, 310)))
    # Scores of a real vocabulary: those that correct rounding would read differently, and others.
    with open(sys.argv[1], encoding="utf-8") as file:
        scores = sorted(set(re.findall(r'", ?(-\d+\.\d+)\]', file.read())))
    rng.shuffle(scores)
    off, same = [], []
    for score in scores[:4000]:
        value = through_tokenizers(score)
        (same if float.fromhex(value) == float(score) else off).append(score)
    texts += off[:120] + same[:60]

    print("# Score texts and the doubles that tokenizers %s reads from them." % tokenizers.__version__)
    print("# Made by tests/format/make_serde_number_golden.py models/multilingual-e5-small/tokenizer.json")
    for text in dict.fromkeys(texts):
        print("%s\t%s" % (text, through_tokenizers(text)))


if __name__ == "__main__":
    main()
