"""trellis.transformers beside transformers itself, over the same tokenizer.json."""
import os

import pytest

# Before it is imported: nothing is to be fetched.
os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")

import trellis.transformers

TEXTS = ["Hello, world!", "", "Zürich: 東京 \U0001f600", "a b c d e f g h i j"]
PAIRS = ["x", "seven grey herons stood", "", "y"]


@pytest.fixture(scope="module")
def both(model_file):
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>", "pad_token": "<pad>",
             "cls_token": "<s>", "mask_token": "<mask>"}
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(model_file), **names)
    theirs.model_input_names = ["input_ids", "attention_mask"]
    return theirs, trellis.transformers.Tokenizer.from_pretrained(model_file.parent)


def same(one, other):
    assert set(one) == set(other)
    for name in one:
        assert [list(row) if isinstance(row, tuple) else row for row in one[name]] == other[name], name


CALLS = [{}, {"padding": True}, {"padding": "longest", "pad_to_multiple_of": 8}, {"padding": "max_length", "max_length": 20},
         {"truncation": True, "max_length": 5}, {"max_length": 6}, {"truncation": True, "max_length": 7, "padding": "max_length"},
         {"add_special_tokens": False}, {"return_token_type_ids": True, "return_special_tokens_mask": True},
         {"return_attention_mask": False, "return_length": True}, {"truncation": "longest_first", "max_length": 9, "padding": True},
         {"truncation": True}, {"padding": True, "padding_side": "left"}]


@pytest.mark.parametrize("options", CALLS, ids=str)
def test_calls(both, options):
    theirs, mine = both
    same(mine(TEXTS, **options), theirs(TEXTS, **options))
    same(mine(TEXTS, PAIRS, **options), theirs(TEXTS, PAIRS, **options))
    same(mine(list(zip(TEXTS, PAIRS)), **options), theirs(list(zip(TEXTS, PAIRS)), **options))
    if "pad_to_multiple_of" not in options:
        same(mine(TEXTS[0], PAIRS[0], **options), theirs(TEXTS[0], PAIRS[0], **options))


def test_offsets_and_windows(both):
    theirs, mine = both
    options = {"truncation": True, "max_length": 6, "stride": 1, "return_overflowing_tokens": True,
               "return_offsets_mapping": True, "padding": True}
    got, want = mine(TEXTS, **options), theirs(TEXTS, **options)
    assert got["offset_mapping"] == want["offset_mapping"]
    assert got["input_ids"] == want["input_ids"]
    assert got["overflow_to_sample_mapping"] == want["overflow_to_sample_mapping"]
    assert got.word_ids(0) == want.word_ids(0) and got.tokens(3) == want.tokens(3)
    assert got.char_to_token(0, 7) == want.char_to_token(0, 7)


def test_words(both):
    theirs, mine = both
    words, others = ["Hello,", "world!", "Zürich"], ["a", "b", "c d"]
    for options in ({}, {"truncation": True, "max_length": 6}, {"add_special_tokens": False}):
        options = options | {"is_split_into_words": True}
        same(mine(words, **options), theirs(words, **options))
        same(mine(words, others, **options), theirs(words, others, **options))
        same(mine([words, others], padding=True, **options), theirs([words, others], padding=True, **options))
        assert mine([words, others], **options).word_ids(0) == theirs([words, others], **options).word_ids(0)


@pytest.mark.parametrize("kind", ["np", "pt"])
def test_tensors(both, kind):
    pytest.importorskip({"np": "numpy", "pt": "torch"}[kind])
    theirs, mine = both
    got, want = (one(TEXTS, padding=True, return_tensors=kind) for one in (mine, theirs))
    for name in want:
        assert type(got[name]) is type(want[name]) and got[name].dtype == want[name].dtype
        assert (got[name] == want[name]).all()
    assert mine.batch_decode(got["input_ids"]) == theirs.batch_decode(want["input_ids"])
    assert mine.decode(got["input_ids"][0], skip_special_tokens=True) == "Hello, world!"


def test_vocabulary(both):
    theirs, mine = both
    assert len(mine) == len(theirs) and mine.pad_token_id == theirs.pad_token_id == 1
    assert mine.all_special_ids == theirs.all_special_ids
    assert mine.convert_tokens_to_ids(["▁a", "nowhere"]) == theirs.convert_tokens_to_ids(["▁a", "nowhere"])
    assert mine.convert_ids_to_tokens([0, 10, 2]) == theirs.convert_ids_to_tokens([0, 10, 2])
    assert mine.tokenize("Hello, world!") == theirs.tokenize("Hello, world!")
    assert mine.encode("Hello, world!") == theirs.encode("Hello, world!")


def test_what_cannot_be(both):
    _, mine = both
    with pytest.raises(ValueError, match="text_pair: 1 texts, expected 2"):
        mine(["a", "b"], ["c"])
    with pytest.raises(ValueError, match="padding: 'most', expected True, False, longest or max_length"):
        mine(["a"], padding="most")
