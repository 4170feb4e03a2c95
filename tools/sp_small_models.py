"""Small SentencePiece models of our own, each for one thing that a model file can ask for: trained by the wheel
sentencepiece 0.2.3 on our own text, or written by hand. The same wheel gives the same bytes."""
import io
import os
import random
import struct
import tempfile

import sp_model_file as f

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.", "Rain fell all night and the river rose by morning.", "Seven grey herons stood along the quiet river bank.",
    "Nobody spoke until dawn, and then everybody spoke at once.", "A tokenizer cuts text into pieces; the pieces must cover the text.", "Numbers: 3.14159, 1,000,000, 42% and #1.",
    "She said \"hello\" twice (once too often).", "Cats, dogs, cows and crows.", "hello hello world world worldwide", "unbelievable unknown unhappy undone redone rerun",
    "running runner runs ran; walking walker walks walked", "Der Fluss stieg \u00fcber die Wiesen und \u00fcber die Stra\u00dfen.", "Gr\u00fc\u00dfe aus M\u00fcnchen, K\u00f6ln und D\u00fcsseldorf.",
    "Le fleuve a d\u00e9bord\u00e9 pendant la nuit, d\u00e9j\u00e0 hier.", "El r\u00edo creci\u00f3 durante la noche y nadie habl\u00f3.", "\u0440\u0435\u043a\u0430 \u043f\u043e\u0434\u043d\u044f\u043b\u0430\u0441\u044c \u043d\u043e\u0447\u044c\u044e, \u0438 \u043d\u0438\u043a\u0442\u043e \u043d\u0435 \u0433\u043e\u0432\u043e\u0440\u0438\u043b",
    "\u5ddd\u306f\u591c\u306e\u3042\u3044\u3060\u306b\u5897\u6c34\u3057\u305f\u3002\u8ab0\u3082\u8a71\u3055\u306a\u304b\u3063\u305f\u3002", "\u6cb3\u6c34\u591c\u91cc\u4e0a\u6da8\uff0c\u6ca1\u6709\u4eba\u8bf4\u8bdd\u3002", "\uac15\uc740 \ubc24\uc0c8 \ubd88\uc5c8\ub2e4.", "\u03c4\u03bf \u03c0\u03bf\u03c4\u03ac\u03bc\u03b9 \u03b1\u03bd\u03ad\u03b2\u03b7\u03ba\u03b5 \u03c4\u03b7 \u03bd\u03cd\u03c7\u03c4\u03b1",
    "s\u00f4ng d\u00e2ng l\u00ean trong \u0111\u00eam", "nehir gece boyunca y\u00fckseldi", "joki nousi y\u00f6n aikana", "aaaa aaa aa a bbbb bbb bb b abab abba baba", "xyzzy plugh <tag> [tag] {tag}",
]

# SentencePiece's rule files: code points in hexadecimal, source TAB target. Chains of prefixes, deletions, blanks made and
# merged, growth, and a rule for U+FFFD, which must not see malformed bytes.
RULES = [
    ("A", "a"), ("B", "b"), ("AB", "ba"), ("ABC", "c"), ("\u00c4", "ae"), ("a\u0308", "\u00e4"), ("e\u0301", "\u00e9"), ("e\u0301\u0302", "\u00ea"), ("\t", " "), ("\n", " "), ("\u00a0", " "),
    ("\u3000", " "), ("\u200b", ""), ("\x01", ""), ("...", "\u2026"), ("\u337f", "\u682a\u5f0f\u4f1a\u793e"), ("\u00bd", " 1/2 "), ("\ufffd", "?"), ("\u2581", " "), ("1st", "first one"),
    ("\uff0c", ","), ("\u00b4", " \u0301"), ("x  ", "x "), ("\ufdfa", "p e a c e"),
]
DENORMAL_RULES = [("\u00e4", "ae"), ("\u2026", "..."), ("hello", "HELLO"), ("?", "")]


def _rules_file(folder, rules):
    path = os.path.join(folder, "rules.tsv")
    with open(path, "w", encoding="utf-8") as out:
        for source, target in rules:
            out.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
    return path


def _train(**options):
    import sentencepiece
    out = io.BytesIO()
    defaults = {"vocab_size": 260, "normalization_rule_name": "identity", "num_threads": 1, "hard_vocab_limit": False, "minloglevel": 2}
    with tempfile.TemporaryDirectory() as folder:
        for key in ("normalization_rule_tsv", "denormalization_rule_tsv"):
            if key in options:
                options[key] = _rules_file(folder, options[key])
                if key == "normalization_rule_tsv":
                    defaults.pop("normalization_rule_name")
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(SENTENCES * 8), model_writer=out, **{**defaults, **options})
    # The file of rules was in a folder of the moment: its name must not be part of the model.
    data = out.getvalue()
    for part in (f.NORMALIZER, f.DENORMALIZER):
        if 6 in f.part(data, part):
            data = f.with_part(data, part, {6: b""})
    return data


def _unused(data):
    """Every fifth normal piece out of use."""
    return f.with_pieces(data, lambda i, text, score, kind: (text, score, f.UNUSED if kind == f.NORMAL and i % 5 == 0 else kind))


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


HEAD = [f.piece("<unk>", 0.0, f.UNKNOWN), f.piece("<s>", 0.0, f.CONTROL), f.piece("</s>", 0.0, f.CONTROL)]


def _ties():
    """Scores that tie in real numbers and that float rounding tells apart, or not, by what stands before."""
    rng = random.Random(5)
    pieces = {"\u2581": -2.0, "a": -1.1, "b": -1.3, "c": -0.7}
    for length in (2, 3, 4):
        for _ in range(14):
            text = "".join(rng.choice("abc\u2581") for _ in range(length))
            pieces[text] = float32(sum(pieces[c] for c in text))
    return f.model(HEAD + [f.piece(t, s) for t, s in pieces.items()], [(f.MODEL_TYPE, f.UNIGRAM)], [])


def _far_sums():
    """Scores so large that the running sum is shifted back again and again."""
    pieces = [("\u2581", -20000.25), ("a", -30001.125), ("b", -29999.875), ("ab", -60000.9), ("ba", -60001.1), ("aa", -60002.3), ("c", 40000.5), ("cc", 80001.1)]
    return f.model(HEAD + [f.piece(t, s) for t, s in pieces], [], [])


def _positive():
    """Scores above zero, and a duplicate between a normal and a control piece."""
    pieces = [("\u2581", 1.5), ("a", 0.25), ("b", -0.5), ("ab", 3.0), ("\u2581a", 0.125), ("<s>", -1.0), ("<", -2.0), ("s", -2.0)]
    return f.model(HEAD + [f.piece(t, s) for t, s in pieces], [], [])


def _nested_symbols():
    """More user-defined prefixes of one another than SentencePiece looks at (64)."""
    symbols = [f.piece("a" * n, 0.0, f.USER_DEFINED) for n in range(2, 75)]
    return f.model(HEAD + [f.piece("\u2581", -1.0), f.piece("a", -2.0), f.piece("b", -3.0)] + symbols, [], [])


def _malformed_pieces():
    """Pieces that are no UTF-8: only a user-defined one can ever match malformed text."""
    odd = [f.piece(b"\xff", 0.0, f.USER_DEFINED), f.piece(b"b\xc3", 0.0, f.USER_DEFINED), f.piece(b"\xe2\x96", -3.0), f.piece(b"\xa9", -3.5), f.piece(b"\xf0\x9f", 0.0, f.USER_DEFINED)]
    return f.model(HEAD + [f.piece(t, s) for t, s in (("\u2581", -1.0), ("a", -2.0), ("b", -2.5), ("\u00e9", -4.0))] + odd, [], [])


def _bytes_without_unk():
    """Byte pieces make the unknown piece unnecessary; a raw NUL piece is put out of use."""
    byte_pieces = [f.piece(f"<0x{b:02X}>", 0.0, f.BYTE) for b in range(256)]
    rest = [f.piece(b"\0", -5.0)] + [f.piece(t, s) for t, s in (("\u2581", -1.5), ("a", -2.0), ("ab", -2.5), ("<0x41>", -9.0))]
    return f.model(byte_pieces + rest, [(f.BYTE_FALLBACK, True)], [])


def _symbols(**more):
    return _train(user_defined_symbols=["<tag>", "[tag]", "ab", "aba", "\u2581\u2581", "two words", " x", "\u00e9\u00e9", "AB"], control_symbols=["<2de>", "<2fr>"], **more)


MODELS = {
    "identity": lambda: _train(),
    "rules": lambda: _train(normalization_rule_tsv=RULES),
    "symbols": lambda: _symbols(unk_surface="<?>", unk_piece="[UNK]", bos_piece="[BOS]", eos_piece="[EOS]", pad_id=3, pad_piece="[PAD]"),
    "symbols_rules": lambda: _symbols(normalization_rule_tsv=RULES),
    "bytes": lambda: _train(byte_fallback=True, vocab_size=400, character_coverage=0.98),
    "suffix": lambda: _train(treat_whitespace_as_suffix=True, normalization_rule_tsv=RULES),
    "no_dummy": lambda: _train(add_dummy_prefix=False),
    "keep_blanks": lambda: _train(remove_extra_whitespaces=False, split_by_whitespace=False, allow_whitespace_only_pieces=True, normalization_rule_tsv=RULES),
    "keep_blanks_no_dummy": lambda: _train(remove_extra_whitespaces=False, add_dummy_prefix=False, user_defined_symbols=["  ", "    "]),
    "no_escape": lambda: f.with_part(_train(normalization_rule_tsv=RULES, user_defined_symbols=[" ", "the "]), f.NORMALIZER, {f.ESCAPE: False}),
    "denormalizer": lambda: _train(denormalization_rule_tsv=DENORMAL_RULES),
    "unused": lambda: _unused(_train()),
    "empty_unk_surface": lambda: f.with_part(_train(character_coverage=0.98), f.TRAINER, {f.UNK_SURFACE: b""}),
    "ties": _ties,
    "far_sums": _far_sums,
    "positive": _positive,
    "nested_symbols": _nested_symbols,
    "malformed_pieces": _malformed_pieces,
    "bytes_without_unk": _bytes_without_unk,
}
