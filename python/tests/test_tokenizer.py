"""trellis.Tokenizer: what each call takes, gives and refuses. Ids and offsets are those of tokenizers 0.22.2 with
multilingual-e5-small (the golden tests have them in numbers; here they are few, to see the shapes)."""
import concurrent.futures
import gc
import sys

import numpy as np
import pytest

import trellis

HELLO = [0, 35378, 4, 8999, 38, 2]  # README.md
TEXTS = ["Hello, world!", "", "Zürich: 東京 \U0001f600", "a b c " * 50]


def test_encode(tokenizer):
    encoding = tokenizer.encode("Hello, world!")
    assert encoding.ids == HELLO
    assert encoding.tokens == ["<s>", "▁Hello", ",", "▁world", "!", "</s>"]
    assert encoding.offsets == [(0, 0), (0, 5), (5, 6), (7, 12), (12, 13), (0, 0)]
    assert encoding.special_tokens_mask == [1, 0, 0, 0, 0, 1]
    assert encoding.attention_mask == [1] * 6
    assert encoding.word_ids == [None, 0, 0, 1, 1, None]
    assert len(encoding) == 6
    assert tokenizer.encode("Hello, world!", add_special_tokens=False).ids == HELLO[1:-1]


def test_offsets_are_of_characters_or_of_bytes(tokenizer):
    text = "é \U0001f600 x"
    characters = tokenizer.encode(text, add_special_tokens=False)
    data = tokenizer.encode(text, add_special_tokens=False, offsets="bytes")
    assert characters.ids == data.ids
    for (begin, end), (first, last) in zip(characters.offsets, data.offsets):
        assert text[begin:end].encode() == text.encode()[first:last]
    with pytest.raises(ValueError, match='offsets: "words", expected code_points or bytes'):
        tokenizer.encode(text, offsets="words")


def test_pairs_have_offsets_of_their_own_text(tokenizer):
    encoding = tokenizer.encode("Zürich", "東京 x")
    assert encoding.n_sequences == 2
    for i, sequence in enumerate(encoding.sequence_ids):
        if sequence is not None:
            begin, end = encoding.offsets[i]
            text = ("Zürich", "東京 x")[sequence]
            assert text[begin:end] in text and end > begin
    assert encoding.ids == tokenizer.encode_batch([("Zürich", "東京 x")])[0].ids
    assert encoding.ids == tokenizer.encode_ids([["Zürich", "東京 x"]])[0].tolist()


def test_bytes_are_taken_as_they_are(tokenizer):
    assert tokenizer.encode(b"Hello, world!").ids == HELLO
    # A maximal ill-formed part counts as one U+FFFD; offsets are of what was given.
    broken, replaced = tokenizer.encode(b"a \xf0\x9f\x98 b", offsets="bytes"), tokenizer.encode("a \ufffd b")
    assert broken.ids == replaced.ids
    assert max(end for _, end in broken.offsets) == len(b"a \xf0\x9f\x98 b")


def test_truncation_and_windows(tokenizer):
    whole = tokenizer.encode("a b c d e f g h", add_special_tokens=False).ids
    cut = tokenizer.encode("a b c d e f g h", max_length=5, overflow=True, stride=1)
    windows = [cut, *cut.overflowing]
    assert [w.ids[1:-1] for w in windows] == [whole[0:3], whole[2:5], whole[4:7], whole[6:8]]
    assert tokenizer.encode("a b c d e f g h", max_length=5).num_truncated == 5
    left = tokenizer.encode("a b c d e f g h", max_length=5, truncation_side="left")
    assert left.ids[1:-1] == whole[-3:]
    assert left.word_ids == [None, 5, 6, 7, None]
    with pytest.raises(ValueError, match="max_length 1: expected at least 2, the number of special tokens"):
        tokenizer.encode("a b", max_length=1)
    assert tokenizer.encode("a b", max_length=1, cut_nothing=True).ids == tokenizer.encode("a b").ids
    with pytest.raises(ValueError, match='truncation: "first", expected longest_first'):
        tokenizer.encode("a b", max_length=9, truncation="first")
    with pytest.raises(ValueError, match="stride: expected a max_length beside it"):
        tokenizer.encode("a b", stride=1)


def test_special_tokens_in_text(tokenizer):
    mask = tokenizer.token_to_id("<mask>")
    assert mask in tokenizer.encode("a <mask>").ids
    shielded = tokenizer.encode("a <mask></s><s><pad>", match_special_tokens=False)
    assert not any(tokenizer.is_special(id) and id != tokenizer.unk_id for id in shielded.ids[1:-1])


def test_batches_are_single_calls(tokenizer):
    one_by_one = [tokenizer.encode(text).ids for text in TEXTS]
    for threads in (0, 1, 2, 7):
        many = TEXTS * 40
        assert [e.ids for e in tokenizer.encode_batch(many, threads=threads)] == one_by_one * 40
        ids, cu_seqlens = tokenizer.encode_ids(many, threads=threads)
        assert (ids.dtype, cu_seqlens.dtype) == (np.int32, np.int64)
        assert [ids[a:b].tolist() for a, b in zip(cu_seqlens, cu_seqlens[1:])] == one_by_one * 40
    assert tokenizer.encode_batch([]) == []
    ids, cu_seqlens = tokenizer.encode_ids([])
    assert len(ids) == 0 and cu_seqlens.tolist() == [0]
    assert tokenizer.encode_ids(text for text in TEXTS)[1].tolist() == tokenizer.encode_ids(TEXTS)[1].tolist()


@pytest.mark.parametrize("side", ["left", "right"])
def test_padded(tokenizer, side):
    ids, mask, types = tokenizer.encode_padded(TEXTS, padding=trellis.Padding(id=1, side=side, multiple_of=8, type_id=3))
    assert ids.shape == mask.shape == types.shape and ids.shape[1] % 8 == 0
    for row, text in enumerate(TEXTS):
        want = tokenizer.encode(text).ids
        pads = [1] * (ids.shape[1] - len(want))
        assert ids[row].tolist() == (pads + want if side == "left" else want + pads)
        assert ids[row][mask[row] == 1].tolist() == want
        assert set(types[row][mask[row] == 0]) <= {3} and set(types[row][mask[row] == 1]) == {0}
        encoding = tokenizer.encode(text, padding=trellis.Padding(id=1, length=ids.shape[1], side=side, token="<pad>"))
        assert encoding.ids == ids[row].tolist() and encoding.attention_mask == mask[row].tolist()
        assert encoding.tokens.count("<pad>") == len(pads)
    with pytest.raises(ValueError, match=r"texts\[3\]: 152 tokens, expected at most the padding's length 8; max_length cuts"):
        tokenizer.encode_padded(TEXTS, padding=trellis.Padding(length=8))


def test_lone_surrogates_are_named(tokenizer):
    with pytest.raises(ValueError, match="text: a lone surrogate at character 2, expected Unicode text"):
        tokenizer.encode("ab\ud800")
    with pytest.raises(ValueError, match=r"texts\[1\]: a lone surrogate at character 0"):
        tokenizer.encode_ids(["a", "\udfff"])


@pytest.mark.parametrize("call", [lambda t: t.encode(3), lambda t: t.encode(None), lambda t: t.encode_batch("text"),
                                  lambda t: t.encode_batch([b"a", 3]), lambda t: t.decode("12"), lambda t: t.decode([1.5]),
                                  lambda t: t.decode(7), lambda t: t.encode_arrow(["a"])])
def test_wrong_types_are_type_errors(tokenizer, call):
    with pytest.raises(TypeError, match="expected"):
        call(tokenizer)


def test_wrong_values_are_named(tokenizer):
    with pytest.raises(ValueError, match=r"texts\[0\]: 3 elements, expected a pair of texts"):
        tokenizer.encode_batch([("a", "b", "c")])
    for id in (-1, 2**31, 2**80):
        with pytest.raises(ValueError, match=r"ids\[1\]: .*expected an id from 0"):
            tokenizer.decode([0, id])


def test_decode(tokenizer):
    assert tokenizer.decode(HELLO) == "Hello, world!"
    assert tokenizer.decode(HELLO, skip_special_tokens=False) == "<s> Hello, world!</s>"
    for dtype in (np.int32, np.int64, np.uint16, np.uint32):
        row = np.array([35378, 4], dtype=dtype)
        assert tokenizer.decode(row) == "Hello,"
        assert tokenizer.decode(np.repeat(row, 2)[::2]) == "Hello,"
    assert tokenizer.decode([]) == "" and tokenizer.decode([10**9]) == ""
    rows = [tokenizer.encode(text).ids for text in TEXTS] * 30
    for threads in (0, 1, 3):
        assert tokenizer.decode_batch(rows, threads=threads) == [tokenizer.decode(row) for row in rows]
    stream = tokenizer.decode_stream()
    assert "".join([stream.step(id) for id in HELLO]) + stream.finish() == "Hello, world!"


def test_vocabulary(tokenizer):
    assert tokenizer.vocab_size == 250002 and tokenizer.unk_id == 3
    assert tokenizer.token_to_id("▁Hello") == 35378 and tokenizer.id_to_token(35378) == "▁Hello"
    assert tokenizer.token_to_id("no such token") is None
    assert tokenizer.id_to_token(-1) is None and tokenizer.id_to_token(2**40) is None
    assert {token.content for token in tokenizer.added_tokens} == {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}
    assert tokenizer.num_special_tokens() == 2 and tokenizer.num_special_tokens(pair=True) == 4
    vocab = tokenizer.vocab()
    assert len(vocab) == 250002 and vocab["</s>"] == 2


def test_added_tokens(tokenizer):
    more = tokenizer.with_added_tokens([trellis.AddedToken("<tool>", special=True)])
    assert more.encode("a <tool>", add_special_tokens=False).ids[-1] == 250002
    assert tokenizer.token_to_id("<tool>") is None
    assert more.decode([250002]) == "" and more.decode([250002], skip_special_tokens=False) == "<tool>"


def test_where_a_tokenizer_comes_from(tokenizer, model_file, tmp_path):
    compiled = tmp_path / "model.trellis"
    tokenizer.save_compiled(compiled)
    for same in (trellis.Tokenizer.from_pretrained(model_file.parent), trellis.Tokenizer.from_str(model_file.read_text()),
                 trellis.Tokenizer.from_bytes(model_file.read_bytes()), trellis.Tokenizer.from_file(compiled),
                 trellis.Tokenizer.from_bytes(compiled.read_bytes())):
        assert same.encode("Hello, world!").ids == HELLO


def test_files_that_cannot_be(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.json: cannot be opened"):
        trellis.Tokenizer.from_file(tmp_path / "nowhere.json")
    with pytest.raises(FileNotFoundError, match="no folder, expected one with a tokenizer.json"):
        trellis.Tokenizer.from_pretrained("intfloat/no-such-folder")
    with pytest.raises(FileNotFoundError, match="no tokenizer.json and no .model inside"):
        trellis.Tokenizer.from_pretrained(tmp_path)
    with pytest.raises(trellis.UnsupportedError, match='these bytes: model.type: "BPE"'):
        trellis.Tokenizer.from_str('{"version": "1.0", "model": {"type": "BPE", "vocab": {}, "merges": []}}')
    for broken in (b"", b"{", b"\x00\xff" * 40, b"\x7ftrellis" + b"\xff" * 100):
        with pytest.raises(ValueError):
            trellis.Tokenizer.from_bytes(broken)
    assert issubclass(trellis.UnsupportedError, ValueError)


def test_threads_of_python_share_one(tokenizer):
    want = [tokenizer.encode(text).ids for text in TEXTS]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: [e.ids for e in tokenizer.encode_batch(TEXTS, threads=2)], range(100)):
            assert got == want


def test_a_list_that_changes_meanwhile(tokenizer):
    texts = ["x" * 1000 + str(i) for i in range(200)]
    want = tokenizer.encode_ids(list(texts))[0].tolist()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for _ in range(10):
            mine = ["".join(text) for text in texts]
            job = pool.submit(tokenizer.encode_ids, mine)
            got = job.result()[0].tolist()
            mine.clear()
            assert got == want


def test_nothing_is_leaked(tokenizer):
    text = "".join(["a text of ", "its own ", str(id(object()))])
    pair = text + "!"
    before = sys.getrefcount(text), sys.getrefcount(pair)
    for _ in range(10):
        encoding = tokenizer.encode(text, pair, max_length=6, overflow=True)
        assert encoding.tokens and encoding.word_ids
        tokenizer.encode_batch([text, (text, pair)])
        tokenizer.encode_ids([text, (text, pair)])
    del encoding
    gc.collect()
    assert (sys.getrefcount(text), sys.getrefcount(pair)) == before
