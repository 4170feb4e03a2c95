"""Texts that are cut into words already, beside tokenizers 0.22.2 itself."""
import random

import pytest

tokenizers = pytest.importorskip("tokenizers")
if tokenizers.__version__ != "0.22.2":
    pytest.skip(f"tokenizers {tokenizers.__version__}, expected 0.22.2", allow_module_level=True)

import trellis
from reference_cases import GOLDEN, pipelines
from test_live_tokenizers import WORDS, compare, compare_lookups
from trellis import tokenizers as ours

MORE = [*WORDS, "", " a", "b ", "two words", "x<mask>y"]


def cut_texts(seed, count):
    numbers = random.Random(seed)
    return [numbers.choices(MORE, k=numbers.randint(0, 9)) for _ in range(count)]


@pytest.fixture(scope="module")
def both(model_file):
    return tokenizers.Tokenizer.from_file(str(model_file)), ours.Tokenizer.from_file(model_file)


@pytest.mark.parametrize("special", [True, False])
def test_texts_and_pairs(both, special):
    theirs, mine = both
    inputs = cut_texts(1, 150) + list(zip(cut_texts(2, 100), cut_texts(3, 100)))
    options = {"is_pretokenized": True, "add_special_tokens": special}
    for text, want, got in zip(inputs, theirs.encode_batch(inputs, **options), mine.encode_batch(inputs, **options)):
        compare(want, got)
        if isinstance(text, list):
            compare(want, mine.encode(tuple(text), **options))
        else:
            compare(want, mine.encode(*text, **options))
    for text in cut_texts(4, 30):
        compare_lookups(theirs.encode(text, **options), mine.encode(text, **options), "".join(text))
    for text, pair in zip(cut_texts(5, 30), cut_texts(6, 30)):
        compare_lookups(theirs.encode(text, pair, **options), mine.encode(text, pair, **options), "".join(text))


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("strategy", ["longest_first", "only_first", "only_second"])
def test_truncation_and_padding(both, direction, strategy):
    theirs, mine = both
    for tokenizer in both:
        tokenizer.enable_truncation(12, stride=2, strategy=strategy, direction=direction)
        tokenizer.enable_padding(direction=direction, pad_id=1, pad_token="<pad>", pad_to_multiple_of=5)
    singles = [] if strategy == "only_second" else [(text,) for text in cut_texts(7, 60)]
    for texts in singles + list(zip(cut_texts(8, 60), cut_texts(9, 60))):
        try:
            want = theirs.encode(*texts, is_pretokenized=True)
        except BaseException as error:  # a panic is no Exception
            with pytest.raises(ValueError):
                mine.encode(*texts, is_pretokenized=True)
            continue
        got = mine.encode(*texts, is_pretokenized=True)
        compare(want, got)
        for one, other in zip(want.overflowing, got.overflowing):
            for column in ("ids", "tokens", "offsets", "word_ids", "attention_mask", "special_tokens_mask", "sequence_ids"):
                assert getattr(other, column) == getattr(one, column), column
    for tokenizer in both:
        tokenizer.no_truncation()
        tokenizer.no_padding()


def test_every_pipeline():
    """Templates, offsets that are trimmed, added tokens, sections and stages of all kinds."""
    compared = 0
    for name, file, cases in pipelines(GOLDEN / "stage_pipelines.jsonl", "file"):
        theirs, mine = tokenizers.Tokenizer.from_buffer(file), ours.Tokenizer.from_buffer(file)
        for case in cases[::5]:
            if "expect_error" in case.row or any(isinstance(text, bytes) for text in case.texts):
                continue
            cut = [text.split(" ") for text in case.texts]
            compare(theirs.encode(*cut, is_pretokenized=True), mine.encode(*cut, is_pretokenized=True))
            compared += 1
    assert compared > 200


def test_the_tokenizer_itself(tokenizer):
    text = ["Hello,", "world!"]
    encoding = tokenizer.encode(text, is_pretokenized=True)
    assert encoding.ids == [0, 35378, 4, 8999, 38, 2]  # README.md: the same words, cut where blanks are
    assert encoding.offsets == [(0, 0), (0, 5), (5, 6), (0, 5), (5, 6), (0, 0)]
    assert encoding.word_ids == [None, 0, 0, 1, 1, None]
    data = tokenizer.encode([b"Z\xc3\xbcrich", b"\xff"], is_pretokenized=True, offsets="bytes", add_special_tokens=False)
    assert max(end for _, end in data.offsets) == 7
    assert tokenizer.encode(text, is_pretokenized=True, max_length=4).num_truncated == 2
    batch = [text, [], (["a"], ["b", "c"])] * 50
    for threads in (1, 3):
        rows = tokenizer.encode_batch(batch, is_pretokenized=True, threads=threads)
        assert [row.ids for row in rows] == [tokenizer.encode(*(one if isinstance(one, tuple) else (one,)),
                                                              is_pretokenized=True).ids for one in batch]


def test_what_cannot_be(tokenizer):
    for call, place in ((lambda: tokenizer.encode("a b", is_pretokenized=True), "text: str, expected a list of words"),
                        (lambda: tokenizer.encode(["a"], "b", is_pretokenized=True), "pair: str, expected a list of words"),
                        (lambda: tokenizer.encode(["a", 3], is_pretokenized=True), r"text\[1\]: .*expected"),
                        (lambda: tokenizer.encode_batch("a", is_pretokenized=True), "texts: one text, expected a list of lists"),
                        (lambda: tokenizer.encode_batch([["a"], "b"], is_pretokenized=True), r"texts\[1\]: str, expected a list"),
                        (lambda: tokenizer.encode_batch([(["a"], [3])], is_pretokenized=True), r"texts\[0\]\[1\]\[0\]: ")):
        with pytest.raises(TypeError, match=place):
            call()
    with pytest.raises(ValueError, match=r"text\[1\]: a lone surrogate"):
        tokenizer.encode(["a", "\ud800"], is_pretokenized=True)
    with pytest.raises(ValueError, match="max_length 1: expected at least 2, the number of special tokens"):
        tokenizer.encode(["a", "b"], is_pretokenized=True, max_length=1)
    with pytest.raises(ValueError, match="stride 9: expected less than what max_length 5 leaves"):
        tokenizer.encode(["a b c d e f g"], is_pretokenized=True, max_length=5, stride=9, overflow=True)
