"""trellis.tokenizers beside the wheel itself: the same program, asked the same."""
import pathlib
import random

import pytest

tokenizers = pytest.importorskip("tokenizers")
if tokenizers.__version__ != "0.22.2":
    pytest.skip(f"tokenizers {tokenizers.__version__}, expected 0.22.2", allow_module_level=True)

from reference_cases import GOLDEN, pipelines
from trellis import tokenizers as ours

WORDS = ["heron", "Zürich", "東京タワー", "don't", "\U0001f600", "e\u0301", "ﬁne", "</s>", "<mask>", "a", "1,000", "  ", "\t", "\n", "х",
         "\u200b", "\ufffd", "ก็", "한국어"]


def texts(seed, count):
    random_words = random.Random(seed)
    return [" ".join(random_words.choices(WORDS, k=random_words.randint(0, 12))) for _ in range(count)]


def compare(want, got):
    for column in ("ids", "tokens", "offsets", "type_ids", "special_tokens_mask", "attention_mask", "word_ids", "words",
                   "sequence_ids", "n_sequences"):
        assert getattr(got, column) == getattr(want, column), column
    assert len(got) == len(want)
    assert len(got.overflowing) == len(want.overflowing)


def compare_lookups(want, got, text):
    for sequence in range(want.n_sequences):
        for position in range(len(text) + 2):
            assert got.char_to_token(position, sequence) == want.char_to_token(position, sequence)
            assert got.char_to_word(position, sequence) == want.char_to_word(position, sequence)
        for word in range(8):
            assert got.word_to_tokens(word, sequence) == want.word_to_tokens(word, sequence)
            assert got.word_to_chars(word, sequence) == want.word_to_chars(word, sequence)
    for token in range(len(want)):
        assert got.token_to_sequence(token) == want.token_to_sequence(token)
        assert got.token_to_word(token) == want.token_to_word(token)
        # The wheel's tokens of a template have the chars (0, 0) of a text where there is no template.
        if want.token_to_sequence(token) is not None:
            assert got.token_to_chars(token) == want.token_to_chars(token)


@pytest.fixture(scope="module")
def both(model_file):
    return tokenizers.Tokenizer.from_file(str(model_file)), ours.Tokenizer.from_file(model_file)


@pytest.mark.parametrize("special", [True, False])
def test_single_texts_and_pairs(both, special):
    theirs, mine = both
    inputs = texts(1, 300) + list(zip(texts(2, 200), texts(3, 200)))
    for text, want, got in zip(inputs, theirs.encode_batch(inputs, add_special_tokens=special),
                               mine.encode_batch(inputs, add_special_tokens=special)):
        compare(want, got)
        compare(want, mine.encode(*((text,) if isinstance(text, str) else text), add_special_tokens=special))
    for text in texts(4, 40):
        compare_lookups(theirs.encode(text, add_special_tokens=special), mine.encode(text, add_special_tokens=special), text)
    for text, pair in zip(texts(5, 40), texts(6, 40)):
        compare_lookups(theirs.encode(text, pair), mine.encode(text, pair), text)


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("strategy", ["longest_first", "only_first", "only_second"])
def test_truncation_and_padding(both, direction, strategy):
    theirs, mine = both
    for tokenizer in both:
        tokenizer.enable_truncation(12, stride=2, strategy=strategy, direction=direction)
        tokenizer.enable_padding(direction=direction, pad_id=1, pad_token="<pad>", pad_to_multiple_of=5)
    assert mine.truncation == theirs.truncation and mine.padding == theirs.padding
    singles = [] if strategy == "only_second" else texts(7, 60)
    for text in singles:
        want, got = theirs.encode(text), mine.encode(text)
        compare(want, got)
        for one, other in zip(want.overflowing, got.overflowing):
            assert (one.ids, one.tokens, one.offsets) == (other.ids, other.tokens, other.offsets)
            assert (one.word_ids, one.attention_mask) == (other.word_ids, other.attention_mask)
    for text, pair in zip(texts(8, 60), texts(9, 60)):
        try:
            want = theirs.encode(text, pair)
        except BaseException as error:  # a panic is no Exception
            with pytest.raises(ValueError):
                mine.encode(text, pair)
            continue
        got = mine.encode(text, pair)
        compare(want, got)
        for one, other in zip(want.overflowing, got.overflowing):
            assert (one.ids, one.tokens, one.offsets, one.word_ids) == (other.ids, other.tokens, other.offsets, other.word_ids)
    batch = [text for text in texts(10, 50) if text] if singles else []
    for want, got in zip(theirs.encode_batch(batch), mine.encode_batch(batch)):
        compare(want, got)
    for tokenizer in both:
        tokenizer.no_truncation()
        tokenizer.no_padding()
    assert mine.truncation is None and mine.padding is None


def test_vocabulary_and_added_tokens(model_file):
    theirs, mine = tokenizers.Tokenizer.from_file(str(model_file)), ours.Tokenizer.from_file(model_file)
    assert mine.get_vocab() == theirs.get_vocab()
    assert mine.get_vocab(with_added_tokens=False) == theirs.get_vocab(with_added_tokens=False)
    for make, tokenizer in ((tokenizers.AddedToken, theirs), (ours.AddedToken, mine)):
        assert tokenizer.add_tokens(["herony", make("[L]", lstrip=True), "the", "herony"]) in (2, 3)
        assert tokenizer.add_special_tokens(["<tool>"]) == 1
    for with_added in (True, False):
        assert mine.get_vocab_size(with_added) == theirs.get_vocab_size(with_added)
    for token in ("herony", "[L]", "<tool>", "▁the", "nowhere at all"):
        assert mine.token_to_id(token) == theirs.token_to_id(token)
    for id in (0, 3, 250001, 250002, 250003, 250004, 250009):
        assert mine.id_to_token(id) == theirs.id_to_token(id)
    for text in ("a herony  [L] b<tool>", "the herony"):
        compare(theirs.encode(text), mine.encode(text))
    got, want = mine.get_added_tokens_decoder(), theirs.get_added_tokens_decoder()
    assert {id: (t.content, t.special, t.lstrip, t.normalized) for id, t in got.items()} == {
        id: (t.content, t.special, t.lstrip, t.normalized) for id, t in want.items()}


def test_decoding(both):
    theirs, mine = both
    numbers = random.Random(11)
    rows = [[numbers.randrange(250002) for _ in range(numbers.randint(0, 20))] for _ in range(300)]
    for skip in (True, False):
        assert mine.decode_batch(rows, skip_special_tokens=skip) == theirs.decode_batch(rows, skip_special_tokens=skip)
        for row in rows[:50]:
            one = tokenizers.decoders.DecodeStream(skip_special_tokens=skip)
            other = ours.DecodeStream(skip_special_tokens=skip)
            assert [other.step(mine, id) for id in row] == [one.step(theirs, id) for id in row]


def test_every_pipeline_with_pairs_and_words():
    """Templates, decoders, added tokens, sections and stages of all kinds."""
    for name, file, cases in pipelines(GOLDEN / "stage_pipelines.jsonl", "file"):
        theirs, mine = tokenizers.Tokenizer.from_buffer(file), ours.Tokenizer.from_buffer(file)
        for case in cases[::3]:
            if "expect_error" not in case.row:
                compare(theirs.encode(*case.texts), mine.encode(*case.texts))


def test_what_is_not_there_says_so(both):
    _, mine = both
    assert not hasattr(mine, "train")


def outcome(call):
    """What it gives, or what kind of exception."""
    try:
        return call()
    except Exception as error:
        return type(error)


def test_settings_are_refused_when_they_are_made():
    path = str(GOLDEN.parent.parent / "models" / "multilingual-e5-small" / "tokenizer.json")
    if not pathlib.Path(path).exists():
        pytest.skip("no demo model: tools/fetch_model")
    want, got = tokenizers.Tokenizer.from_file(path), ours.Tokenizer.from_file(path)
    for given, options in [((-1,), {}), (("5",), {}), ((5.0,), {}), ((2**64,), {}), ((0,), {}), ((True,), {}),
                           ((5,), {"stride": 2}), ((5,), {"stride": 3}), ((5,), {"stride": 10}), ((2,), {"stride": 1}),
                           ((5,), {"stride": -1}), ((5,), {"strategy": "x"}), ((5,), {"direction": "x"})]:
        assert outcome(lambda: got.enable_truncation(*given, **options)) == outcome(
            lambda: want.enable_truncation(*given, **options)), (given, options)
    for options in ({"pad_id": -1}, {"pad_id": 2**32}, {"pad_type_id": -1}, {"length": -1}, {"length": "3"},
                    {"pad_to_multiple_of": -1}, {"pad_to_multiple_of": 0}, {"direction": "x"}):
        assert outcome(lambda: got.enable_padding(**options)) == outcome(lambda: want.enable_padding(**options)), options
    for tokens in ("abc", [5], None, ["<new>", "<s>"], ["<new>"], ["<two>", "<two>"], [""], ["hello", "\u2581the"], ["\u2581the"]):
        assert outcome(lambda: got.add_tokens(tokens)) == outcome(lambda: want.add_tokens(tokens)), tokens
    for tokens in (["<zz>"], ["<zz>"], ["<new>"], ["<new>"]):
        assert outcome(lambda: got.add_special_tokens(tokens)) == outcome(lambda: want.add_special_tokens(tokens)), tokens
