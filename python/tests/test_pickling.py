"""A tokenizer goes to other processes whole, as Ray, Spark and multiprocessing send it."""
import copy
import multiprocessing
import pickle

import pytest

import trellis
from reference_cases import GOLDEN, ROOT
from test_tokenizer import HELLO, TEXTS
from trellis import tokenizers

SMALL = ROOT / "tests" / "serve" / "models" / "tiny-bert"


def rows_of(tokenizer):
    return [tokenizer.encode(text).ids for text in TEXTS]


def test_what_is_pickled_is_whole(tmp_path, model_file):
    """The file that it was made of is not looked for again, be it a tokenizer.json or a compiled one, which is mapped."""
    file, compiled = tmp_path / "tokenizer.json", tmp_path / "model.trellis"
    file.write_bytes(model_file.read_bytes())
    from_json = trellis.Tokenizer.from_file(file)
    from_json.save_compiled(compiled)
    mapped = trellis.Tokenizer.from_file(compiled)
    want = rows_of(from_json)
    pickles = [pickle.dumps(one, protocol) for one in (from_json, mapped) for protocol in (2, pickle.HIGHEST_PROTOCOL)]
    assert pickles[0] == pickle.dumps(from_json, 2)
    file.unlink()
    compiled.unlink()
    for data in pickles:
        again = pickle.loads(data)
        assert rows_of(again) == want and again.encode("Hello, world!").ids == HELLO
        assert again.encode("Hello, world!").word_ids == from_json.encode("Hello, world!").word_ids
        assert again.decode(HELLO) == "Hello, world!"
        assert again.padding is None and again.num_special_tokens() == 2


def test_every_kind_of_model():
    for file in sorted((GOLDEN / "sp_models").glob("*.model")):
        tokenizer = trellis.Tokenizer.from_file(file)
        again = pickle.loads(pickle.dumps(tokenizer))
        assert again.vocab() == tokenizer.vocab() and repr(again) == repr(tokenizer)
        if file.stem != "bytes_without_unk":
            assert again.encode("abab \u2603 cab", add_special_tokens=False).ids == tokenizer.encode(
                "abab \u2603 cab", add_special_tokens=False).ids


def test_added_tokens_go_along(tokenizer):
    more = pickle.loads(pickle.dumps(tokenizer.with_added_tokens([trellis.AddedToken("<tool>", special=True, lstrip=True)])))
    assert more.encode("a <tool>", add_special_tokens=False).ids[-1] == 250002
    assert more.added_tokens[-1].lstrip and more.is_special(250002)


def test_a_pickle_that_cannot_be(tokenizer):
    data = pickle.dumps(tokenizer.with_added_tokens([]))
    for broken in (data[:-1000] + bytes(990) + data[-10:],):
        with pytest.raises(ValueError, match="the pickled tokenizer: "):
            pickle.loads(broken)
    for state in (b"", b"{}", b"\x7ftrellis" + b"\xff" * 100):
        with pytest.raises(ValueError, match="the pickled tokenizer: byte"):
            trellis.Tokenizer.__new__(trellis.Tokenizer).__setstate__(state)
    with pytest.raises(TypeError), pytest.warns(RuntimeWarning, match="uninitialized"):
        trellis.Tokenizer.__new__(trellis.Tokenizer).encode("a")


def test_values():
    token = trellis.AddedToken("<é>", single_word=True, rstrip=True, normalized=True, special=True)
    padding = trellis.Padding(length=7, multiple_of=4, side="left", id=3, type_id=2, token="<pad>")
    for one, fields in ((token, ("content", "id", "single_word", "lstrip", "rstrip", "normalized", "special")),
                        (padding, ("length", "multiple_of", "side", "id", "type_id", "token"))):
        for again in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
            assert [getattr(again, field) for field in fields] == [getattr(one, field) for field in fields]
    assert pickle.loads(pickle.dumps(trellis.Padding())).length is None


def test_copies_are_the_same_one(tokenizer):
    assert copy.copy(tokenizer) is tokenizer and copy.deepcopy({"tokenizer": tokenizer})["tokenizer"] is tokenizer


def test_state_of_tokenizers():
    one = tokenizers.Tokenizer.from_file(SMALL / "tokenizer.json")
    one.enable_truncation(6, stride=1, direction="left")
    one.enable_padding(pad_id=1, pad_token="<pad>", length=8)
    one.add_tokens(["herony"])
    one.encode_special_tokens = True
    text = "a herony of </s> many words"
    want = one.encode(text)
    for again in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert again.truncation == one.truncation and again.padding == one.padding
        got = again.encode(text)
        assert (got.ids, got.tokens, got.word_ids) == (want.ids, want.tokens, want.word_ids)
        again.no_truncation()
        again.no_padding()
        again.add_tokens(["words"])
        assert one.truncation["max_length"] == 6 and one.encode(text).ids == want.ids


def test_state_of_transformers():
    adapter = pytest.importorskip("trellis.transformers", exc_type=ImportError)
    one = adapter.Tokenizer.from_pretrained(SMALL)
    one.padding_side = "left"
    again = pickle.loads(pickle.dumps(one))
    assert again(TEXTS, padding=True)["input_ids"] == one(TEXTS, padding=True)["input_ids"]


def encode_there(job):
    tokenizer, text = job
    return tokenizer.encode(text).ids


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_other_processes(method):
    tokenizer = trellis.Tokenizer.from_file(SMALL / "tokenizer.json")
    drop_in = tokenizers.Tokenizer.from_file(SMALL / "tokenizer.json")
    want = rows_of(tokenizer)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for one in (tokenizer, drop_in):
            assert pool.map(encode_there, [(one, text) for text in TEXTS]) == want
