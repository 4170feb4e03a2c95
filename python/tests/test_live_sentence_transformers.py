"""trellis.Embedder beside sentence-transformers itself, where it is installed: the same calls, the same results.

    pip install sentence-transformers==6.2.0
"""
import random

import numpy as np
import pytest

sentence_transformers = pytest.importorskip("sentence_transformers", exc_type=ImportError)
if sentence_transformers.__version__ != "6.2.0":
    pytest.skip(f"sentence-transformers {sentence_transformers.__version__}, expected 6.2.0", allow_module_level=True)

import torch
from reference_cases import MODEL, ROOT
from trellis import Embedder

torch.set_num_threads(1)

MODELS = ROOT / "tests" / "serve" / "models"
TOLERANCE = 1e-5
WORDS = ["the", "people", "could", "find", "water", "on", "first", "day", "Zürich", "東京", "\U0001f600", "  ", "\n", "don't", "</s>"]


def texts(seed, count):
    numbers = random.Random(seed)
    return [" ".join(numbers.choices(WORDS, k=numbers.randint(0, 60))) for _ in range(count)]


@pytest.fixture(scope="module", params=["tiny-bert", "tiny-m3", "tiny-xlm-roberta-dense", "tiny-xlm-roberta-last", MODEL])
def both(request):
    folder = MODELS / request.param
    if not any(folder.glob("*.safetensors")):
        pytest.skip(f"{folder}: no weights")
    theirs = sentence_transformers.SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
    return theirs, Embedder(folder, dtype="f32", threads=1)


def test_encode(both):
    theirs, mine = both
    assert mine.get_sentence_embedding_dimension() == theirs.get_embedding_dimension()
    assert mine.max_seq_length == theirs.max_seq_length and mine.similarity_fn_name == theirs.similarity_fn_name
    assert mine.prompts == theirs.prompts and mine.default_prompt_name == theirs.default_prompt_name
    batch = texts(1, 16)
    for options in ({}, {"normalize_embeddings": True}, {"prompt": "query: "}, {"batch_size": 7}, {"truncate_dim": 8},
                    {"truncate_dim": 8, "normalize_embeddings": True}, *({"prompt_name": name} for name in mine.prompts)):
        want, got = theirs.encode(batch, **options), mine.encode(batch, **options)
        assert got.dtype == want.dtype and got.shape == want.shape, options
        assert np.abs(got - want).max() < TOLERANCE, options
        assert np.abs(mine.encode(batch[0], **options) - theirs.encode(batch[0], **options)).max() < TOLERANCE
    for call in ("encode_query", "encode_document"):
        assert np.abs(getattr(mine, call)(batch[:5]) - getattr(theirs, call)(batch[:5])).max() < TOLERANCE
    tensor, other = mine.encode(batch[:3], convert_to_tensor=True), theirs.encode(batch[:3], convert_to_tensor=True)
    assert type(tensor) is type(other) and tensor.dtype == other.dtype and (tensor - other).abs().max() < TOLERANCE


@pytest.mark.parametrize("name", ["cosine", "dot", "euclidean", "manhattan"])
def test_similarity(name):
    theirs = sentence_transformers.SentenceTransformer(str(MODELS / "tiny-bert"), device="cpu", similarity_fn_name=name)
    mine = Embedder(MODELS / "tiny-bert", dtype="f32", similarity_fn_name=name)
    one, other = mine.encode(texts(2, 5)), mine.encode(texts(3, 7))
    for a, b in ((one, other), (one[0], other), (one, other[1]), (one[2], other[3])):
        want, got = theirs.similarity(a, b).numpy(), mine.similarity(a, b)
        assert got.shape == want.shape and got.dtype == want.dtype and np.abs(got - want).max() < 1e-4


def test_reranker():
    theirs = sentence_transformers.CrossEncoder(str(MODELS / "tiny-reranker"), device="cpu")
    mine = Embedder(MODELS / "tiny-reranker", dtype="f32")
    pairs = list(zip(texts(4, 60), texts(5, 60)))
    want, got = theirs.predict(pairs), mine.predict(pairs)
    assert got.dtype == want.dtype and got.shape == want.shape and np.abs(got - want).max() < TOLERANCE
    want, got = (model.rank("the people", texts(6, 9), top_k=4, return_documents=True) for model in (theirs, mine))
    assert [row.keys() for row in got] == [row.keys() for row in want]
    for one, other in zip(got, want):
        assert (one["corpus_id"], one["text"]) == (other["corpus_id"], other["text"])
        assert abs(one["score"] - other["score"]) < TOLERANCE
