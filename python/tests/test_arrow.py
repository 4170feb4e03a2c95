"""Arrow arrays in and out. pyarrow checks what it is handed."""
import pytest

pa = pytest.importorskip("pyarrow")

TEXTS = ["Hello, world!", "", None, "東京", "a b c"]


def want(tokenizer, texts):
    return [None if text is None else tokenizer.encode(text).ids for text in texts]


@pytest.mark.parametrize("type,lists", [(pa.string(), pa.list_(pa.int32())), (pa.large_string(), pa.large_list(pa.int32())),
                                        (pa.binary(), pa.list_(pa.int32())), (pa.large_binary(), pa.large_list(pa.int32()))])
def test_types(tokenizer, type, lists):
    array = pa.array(TEXTS).cast(type)
    ids = pa.array(tokenizer.encode_arrow(array))
    ids.validate(full=True)
    assert ids.type == lists
    assert ids.to_pylist() == want(tokenizer, TEXTS) and ids.null_count == 1


def test_slices_and_many(tokenizer):
    texts = [f"text {i}" if i % 7 else None for i in range(5000)]
    array = pa.array(texts)
    for begin, end in ((0, 5000), (3, 4), (13, 4001), (5, 5)):
        for threads in (1, 3):
            ids = pa.array(tokenizer.encode_arrow(array[begin:end], threads=threads))
            ids.validate(full=True)
            assert ids.to_pylist() == want(tokenizer, texts[begin:end])


def test_nothing_is_copied(tokenizer):
    lists = tokenizer.encode_arrow(pa.array(["a b c", "d"]))
    first, second = pa.array(lists), pa.array(lists)
    assert first.values.buffers()[1].address == second.values.buffers()[1].address
    del lists, first
    assert second.to_pylist() == want(tokenizer, ["a b c", "d"])


def test_options(tokenizer):
    ids = pa.array(tokenizer.encode_arrow(pa.array(["a b c d"]), max_length=4, add_special_tokens=False))
    assert ids.to_pylist() == [tokenizer.encode("a b c d", add_special_tokens=False).ids[:4]]
    with pytest.raises(ValueError, match=r"array\[1\]: max_length 1"):
        tokenizer.encode_arrow(pa.array([None, "b"]), max_length=1)


@pytest.mark.parametrize("array", [pa.array([1, 2]), pa.array(["a"]).dictionary_encode(), pa.array([["a"]]),
                                   pa.array(["a"]).cast(pa.string_view())])
def test_other_types_are_refused(tokenizer, array):
    with pytest.raises(ValueError, match="array: Arrow's type .*expected string, large_string"):
        tokenizer.encode_arrow(array)


def test_capsules_that_nobody_takes(tokenizer):
    for _ in range(100):
        schema, array = tokenizer.encode_arrow(pa.array(["a"])).__arrow_c_array__()
        del schema, array
