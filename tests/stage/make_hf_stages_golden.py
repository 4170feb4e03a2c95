#!/usr/bin/env python3
"""Writes hf_stages.jsonl: what tokenizers 0.22.2 does, stage by stage.

  pip install tokenizers==0.22.2
  tests/stage/make_hf_stages_golden.py models/multilingual-e5-small/tokenizer.json > tests/stage/hf_stages.jsonl

Everything is the wheel's answer: normalizers and pre-tokenizers through PreTokenizedString (a cut
after every character shows which source bytes each one stands for), the rest through small
tokenizers whose model knows single words. Offsets are bytes of the text.
"""
import itertools
import json
import random
import sys

import tokenizers
from tokenizers import (AddedToken, PreTokenizedString, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors)

RANDOM = random.Random(11)
SCHEMES = ["always", "first", "never"]


def row(kind, **fields):
    print(json.dumps({"kind": kind, **fields}, ensure_ascii=True, separators=(",", ":")))


def byte_ends(text):
    """ends[i]: bytes before character i."""
    return [0] + list(itertools.accumulate(len(c.encode()) for c in text))


def random_text(parts, count):
    return "".join(RANDOM.choice(parts) for _ in range(RANDOM.randint(0, count)))


# --- normalizers ---

def normalizer_rows(model_file):
    step = json.load(open(model_file))["normalizer"]
    assert step["type"] == "Precompiled", step["type"]
    from_json = json.loads(Tokenizer(models.BPE()).to_str())
    from_json["normalizer"] = step
    precompiled = Tokenizer.from_str(json.dumps(from_json)).normalizer
    blanks = normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    blanks_out = normalizers.Replace(tokenizers.Regex(" {2,}"), "\u2581")

    kinds = {
        "precompiled": ([precompiled], [
            "", "a", "Hello", "\x01", "\x01a", "\x01\x02ab", "a\x01b", "ab\x01", "\x01\u00e9b\x01c", "\x01\u2026ab",
            "\u2026", "\u2026\x01", "a\u2026\x01b", "\u2026\x01\x02b", "\u2026\u2026", "\u2026 \u2026\x01x",
            "e\u0301", "e\u0301x", "\x01e\u0301x", "e\u0302\u0301", "Tie\u0302\u0301ng", "a\u0327\u0301b", "B\u0331c",
            "\u0915\u093c\u0940", "\uff76\uff9e", "\uff76\uff9ex", "\u1100\u1161\u11a8", "\u1100\u1161", "\u3131\u314f",
            "\ufdfa", "a\ufdfab", "\ufdfa\x01b", "\x01\ufdfa", "\u337f", "\ufb03", "\ufb03\x01", "\u00a8", "\u00a8\x02b",
            "\u00af\u00af", "\u00bd", "\u2581a", "a\u2581b", "\u3000a", "\u00a0", "a\u200db", "\u0e17\u0e33", "\r\n",
            "a\r\nb", "\U0001F468\u200D\U0001F469\u200D\U0001F467", "\u0085", "\ufffd", "a\ufffd\u0301b", " \u0301a",
            "\u2026\u0301", "\u2026\u0301b", "\x01\u0301a", "\u00bd\u0301\x01z", "\U0001D400\U0001D401", "\u0041\u030ab",
            "\u09c7\u09be", "\u0995\u09cb", "\u0958", "\u2126", "\u212b", "\u1e9b\u0323", "\u1e9b\u0323\u0301",
        ] + [random_text(["a", "b", " ", "\x01", "\u2026", "\u00e9", "e", "\u0301", "\u0302", "\ufdfa", "\ufb03", "\u00a8",
                          "\u0331", "\u1100", "\u1161", "\u11a8", "\uff76", "\uff9e", "\u0915", "\u093c", "\u200d",
                          "\U0001F468", "\u00bd", "\r", "\n", "\u3000"], 9) for _ in range(300)]),
        "replace:  ": ([normalizers.Replace("  ", "\u00e9x")], None),
        "replace:ab": ([normalizers.Replace("ab", "\u2581")], None),
        "replace:\u00e9": ([normalizers.Replace("\u00e9", "")], None),
        "blanks: ": ([blanks], None),
        "blanks:\u2581": ([blanks_out], None),
        "precompiled|blanks: ": ([precompiled, blanks], [
            "", "  ", "a  b", "\x01  a", "a \u3000 b", "\u2026  \u2026", "a\u200b\u200bb", "\u00a8\u00a8",
        ] + [random_text([" ", " ", "a", "\u3000", "\u2026", "\x01", "\u00af", "\u200b", "e\u0301"], 8) for _ in range(60)]),
    }
    plain = ["", " ", "  ", "   ", "a  b", "  a", "a  ", "ab", "abab", "aab", "xaby", "\u00e9", "\u00e9\u00e9a", "a\u00e9  b"]
    plain += [random_text([" ", " ", "a", "b", "\u00e9", "ab"], 9) for _ in range(50)]
    for name, (steps, texts) in kinds.items():
        for text in texts or plain:
            pre = PreTokenizedString(text)
            for each in steps:
                pre.normalize(lambda n: each.normalize(n))
            normalized = []

            def cut(_, n):
                normalized.append(n.normalized)
                return [n.slice((i, i + 1)) for i in range(len(n.normalized))]

            pre.split(cut)
            ends = byte_ends(text)
            splits = pre.get_splits("original", "char")
            # A text that becomes empty has no splits.
            joined = "".join(s[0] for s in splits)
            assert joined == "".join(normalized), (text, joined, normalized)
            row("normalizer", steps=name, text=text, normalized=joined,
                offsets=[[ends[b], ends[e]] for _, (b, e), _ in splits])


# --- pre-tokenizers ---

def pre_tokenizer_rows():
    texts = ["", " ", "  ", "a", " a", "a ", "a b", "a  b", "  a  b  ", "\u2581", "\u2581\u2581", "\u2581a", "a\u2581b", "a\u2581\u2581b",
             " \u2581a", "\u2581 a", "\u2581 ", "\u00e9\u3000\u00e8", "a\u00a0b", "a\tb\nc", "\u0085a\u0085", "\u1680x\u2003y\u200bz", "\u2028\u2029",
             "\u6771\u4eac \u90fd", "_a_ b", "a__b", "\U0001F600 \U0001F601", "\u205fa\u202fb"]
    texts += [random_text([" ", " ", "a", "\u00e9", "\u2581", "\u3000", "\t", "_", "\u6771"], 8) for _ in range(50)]
    chains = [["whitespace"]]
    for scheme, split in itertools.product(SCHEMES, [True, False]):
        chains += [[["\u2581", scheme, split]], ["whitespace", ["\u2581", scheme, split]]]
    chains += [[["_", "always", True]], [["_", "first", True]], [["\u2581", "always", True], "whitespace"],
               [["\u2581", "always", True], ["_", "always", True]], [["_", "never", True], ["\u2581", "first", True]]]
    for chain in chains:
        steps = [pre_tokenizers.WhitespaceSplit() if step == "whitespace" else
                 pre_tokenizers.Metaspace(replacement=step[0], prepend_scheme=step[1], split=step[2]) for step in chain]
        for text in texts:
            pre = PreTokenizedString(text)
            for step in steps:
                step.pre_tokenize(pre)
            row("pre_tokenizer", chain=chain, text=text,
                pieces=[[s[0], *s[1]] for s in pre.get_splits("original", "byte")])


# --- added tokens ---

def added_token_rows():
    parts = ["a", "b", "ab", "abc", "bc", "<m>", "<", "m>", " ", " ", "\u3000", "\u00e9", "_", "\u00a0", ".", "\n", "\u0301", "5"]
    sets = [
        [("ab", ""), ("abc", ""), ("b", "")],
        [("ab", ""), ("bc", ""), ("abcab", "")],
        [("<m>", "l"), ("<m", "")],
        [("<m>", "r"), ("a", "l")],
        [("<m>", "lr"), ("a", "lr")],
        [("ab", "w"), ("\u00e9", "w")],
        [("ab", "w"), ("abc", ""), ("a", "")],
        [("<m>", "wl"), ("b", "wr"), ("abc", "wlr")],
        [("<m>", "ls"), ("a", "s"), ("ab", "")],
        [(" ", ""), ("a", "lr")],
        [("\u3000", "lr"), ("a", ""), ("\u00e9", "r")],
        [(" a", "l"), ("b ", "r")],
    ]
    for tokens in sets:
        tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
        added = [AddedToken(content, single_word="w" in flags, lstrip="l" in flags, rstrip="r" in flags,
                            normalized=False, special="s" in flags) for content, flags in tokens]
        for token in added:
            (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
        ids = [tokenizer.token_to_id(content) for content, _ in tokens]
        texts = ["", "a", "ab", "abc", "abcab", "abab", " <m> ", "\u3000<m>\n a", "  <m>  <m>  ", "xab ab", "ab\u0301", "_ab ab_",
                 "5ab", "ab5", ".ab.", "\u00e9ab\u00e9", "<m><m>"]
        texts += [random_text(parts, 9) for _ in range(60)]
        for text in texts:
            ends = byte_ends(text)
            encoding = tokenizer.encode(text)
            row("added_tokens", tokens=[[content, flags, id] for (content, flags), id in zip(tokens, ids)], text=text,
                matches=[[id, ends[b], ends[e]] for id, (b, e) in zip(encoding.ids, encoding.offsets) if id in ids])


# --- truncation ---

def truncation_rows():
    tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    for strategy in ["longest_first", "only_first", "only_second"]:
        for room in range(13):
            tokenizer.enable_truncation(room, strategy=strategy)
            kept = []  # [first, second or -1, kept of each, or nothing]
            for first, second in itertools.product(range(9), range(-1, 9)):
                texts = ["a " * first] + (["a " * second] if second >= 0 else [])
                try:
                    sequence_ids = tokenizer.encode(*texts).sequence_ids
                    kept.append([first, second, sequence_ids.count(0), sequence_ids.count(1)])
                except Exception as error:
                    assert "truncat" in str(error).lower(), error
                    kept.append([first, second])
            row("truncation", strategy=strategy, room=room, kept=kept)


# --- post-processor ---

def post_processor_rows():
    templates = [
        ("[S] $A [E]", "[S] $A [E] [E] $B [E]"),
        ("[S] $A [E]", "[S]:1 $A:2 [E]:3 $B:4 [E]:5"),
        ("$A", "$A $B"),
        ("[M] $A:7", "$B:1 [M]:9 $A:0"),
        ("$A [E] $A:1", "$A $B $A $B:3"),
        ("[M] [S]", "[S] $B [M] $A"),
    ]
    for single, pair in templates:
        tokenizer = Tokenizer(models.WordLevel({"-": 0, "a": 1, "b": 2, "S": 3, "E": 4, "M": 5}, unk_token="a"))
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer.post_processor = processors.TemplateProcessing(
            single=single, pair=pair,
            special_tokens=[{"id": "[S]", "ids": [3], "tokens": ["S"]}, {"id": "[E]", "ids": [4], "tokens": ["E"]},
                            {"id": "[M]", "ids": [5, 4, 5], "tokens": ["M", "E", "M"]}])
        template = json.loads(tokenizer.to_str())["post_processor"]
        for texts in [("a a",), ("",), ("a", "b b b"), ("", "b"), ("a", "")]:
            encoding = tokenizer.encode(*texts)
            row("post_processor", single=template["single"], pair=template["pair"],
                specials={name: special["ids"] for name, special in template["special_tokens"].items()},
                first=len(texts[0].split()), second=len(texts[1].split()) if len(texts) > 1 else -1,
                ids=encoding.ids, type_ids=encoding.type_ids, mask=encoding.special_tokens_mask,
                added=tokenizer.num_special_tokens_to_add(len(texts) > 1))


# --- decoder ---

def decoder_rows():
    words = ["\u2581", "\u2581a", "a", "a\u2581b", "\u2581\u2581", "", " ", "\u2581\u00e9\u2581", "_", "_x", "\u6771"]
    lists = [[], ["\u2581"], ["\u2581", "\u2581"], [""], ["", "\u2581a"]] + [
        [RANDOM.choice(words) for _ in range(RANDOM.randint(1, 5))] for _ in range(60)]
    for replacement, scheme in itertools.product(["\u2581", "_"], SCHEMES):
        decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)
        for tokens in lists:
            row("decoder", replacement=replacement, scheme=scheme, tokens=tokens, text=decoder.decode(tokens))
    vocab = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token=""))
    for tokens in lists:
        row("join", tokens=tokens, text=tokenizer.decode([vocab[token] for token in tokens]))


# --- unigram ---

def unigram_rows():
    letters = ["a", "b", "c", "\u00e9", "\u6771", "x"]
    for n in range(60):
        pieces, positive = {}, n % 3 == 0
        unk = RANDOM.randint(0, 5)
        for i in range(RANDOM.randint(6, 30)):
            text = "<unk>" if i == unk else "".join(RANDOM.choice(letters[:-1]) for _ in range(RANDOM.randint(1, 4)))
            score = RANDOM.choice([-1.0, -1.5, -2.0, -3.0, -4.0, -4.5, -8.25, RANDOM.uniform(-12, 0)])
            if positive and RANDOM.random() < 0.3:
                score = RANDOM.choice([0.5, 12.0, 20.0])
            # Far above zero two unknown characters beat a piece, and their run is looked up.
            pieces.setdefault(text, score + 40 if n % 6 == 0 else score)
        vocab = list(pieces.items())
        unk = [text for text, _ in vocab].index("<unk>")
        model = models.Unigram(vocab, unk, False)
        texts = []
        for _ in range(25):
            text = random_text(letters, 10) or "x"
            texts.append([text, [[token.id, *token.offsets] for token in model.tokenize(text)]])
        row("unigram", pieces=vocab, unk=unk, texts=texts)


def main():
    row("about", reference=f"tokenizers {tokenizers.__version__}", written_by="tests/stage/make_hf_stages_golden.py")
    assert tokenizers.__version__ == "0.22.2", tokenizers.__version__
    normalizer_rows(sys.argv[1])
    pre_tokenizer_rows()
    added_token_rows()
    truncation_rows()
    post_processor_rows()
    decoder_rows()
    unigram_rows()


if __name__ == "__main__":
    main()
