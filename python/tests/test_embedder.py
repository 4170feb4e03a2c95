"""trellis.Embedder beside what sentence-transformers 6.2.0 and transformers 5.24.0 gave: their answers lie by the tiny models
(reference.json), and those of the demo model where TRELLIS_CASES says."""
import base64
import json
import pickle

import numpy as np
import pytest

from reference_cases import CASES, MODEL, ROOT

try:
    from trellis import Embedder
except ImportError as reason:
    pytest.skip(str(reason), allow_module_level=True)

MODELS = ROOT / "tests" / "serve" / "models"
EMBEDS = ["tiny-bert", "tiny-m3", "tiny-xlm-roberta-dense", "tiny-xlm-roberta-last"]
TOLERANCE = 1e-5  # serve/engine/cpu/README.md, f32
TEXTS = ["who can find water", "", "a b c", "the people could find water on the first day"]


def tiny(name="tiny-bert", **options):
    return Embedder(MODELS / name, **({"dtype": "f32", "threads": 1} | options))


def reference(name):
    return json.loads((MODELS / name / "reference.json").read_text())


@pytest.fixture(scope="module")
def bert():
    return tiny()


@pytest.fixture(scope="module")
def reranker():
    return tiny("tiny-reranker")


@pytest.mark.parametrize("name", EMBEDS)
def test_vectors_are_the_references(name):
    rows = reference(name)["texts"]
    embedder = tiny(name)
    for prompt in {row.get("prompt_name") for row in rows}:
        mine = [row for row in rows if row.get("prompt_name") == prompt]
        vectors = embedder.encode([row["text"] for row in mine], prompt)
        assert vectors.dtype == np.float32 and vectors.shape == (len(mine), embedder.dimensions)
        assert np.abs(vectors - np.array([row["embedding"] for row in mine])).max() < TOLERANCE
        one = embedder.encode(mine[-1]["text"], prompt_name=prompt)
        assert one.shape == (embedder.dimensions,) and (one == vectors[-1]).all()


def test_demo_model():
    if CASES is None or not (MODEL / "model.safetensors").exists():
        pytest.skip(f"TRELLIS_CASES is not set, or {MODEL} has no weights")
    rows = [json.loads(line) for line in open(CASES / "embeddings_e5_small.jsonl", encoding="utf-8")]
    embedder = Embedder(MODEL, dtype="f32")
    assert embedder.dimensions == 384 and embedder.max_seq_length == 512
    for pooling in ("mean", "cls"):
        want = np.array([np.frombuffer(base64.b64decode(row[pooling + "_b64"]), dtype="<f4") for row in rows])
        got = embedder.encode([row["text"] for row in rows], pooling=pooling, normalize_embeddings=True)
        assert (got * want).sum(axis=1).min() >= 0.999999 and np.abs(got - want).max() <= 1e-6  # as cpu_demo_model_test.cc


def test_length_one_and_fewer_dimensions():
    embedder = tiny("tiny-camembert")  # which does not normalize
    whole = embedder.encode(TEXTS)
    assert np.abs(np.linalg.norm(whole, axis=1) - 1).min() > 0.01
    assert np.allclose(embedder.encode(TEXTS, normalize_embeddings=True), whole / np.linalg.norm(whole, axis=1)[:, None], atol=1e-6)
    assert (embedder.encode(TEXTS, truncate_dim=5) == whole[:, :5]).all()
    short = embedder.encode(TEXTS, truncate_dim=5, normalize_embeddings=True)
    assert short.shape == (4, 5) and np.allclose(np.linalg.norm(short, axis=1), 1, atol=1e-6)


def test_what_batches_are_made_does_not_matter(bert):
    many = TEXTS * 50
    want = np.tile(bert.encode(TEXTS), (50, 1))
    for batch_size in (None, 1, 7, 64, 1000):
        assert (bert.encode(many, batch_size=batch_size) == want).all()
    assert (bert.encode(text for text in TEXTS) == want[:4]).all()
    assert (bert.encode([text.encode() for text in TEXTS]) == want[:4]).all()
    vectors = bert.encode(TEXTS, convert_to_numpy=False)
    assert isinstance(vectors, list) and all((one == other).all() for one, other in zip(vectors, want))


def test_nothing_to_do(bert, reranker):
    vectors = bert.encode([])
    assert vectors.dtype == np.float32 and vectors.shape == (0, bert.dimensions)
    assert bert.encode([], truncate_dim=3).shape == (0, 3)
    assert reranker.predict([]).shape == (0,) and reranker.rank("a", []) == []
    assert bert.similarity(vectors, bert.encode(TEXTS)).shape == (0, 4)


def test_what_is_too_long_is_cut(bert):
    assert bert.max_seq_length == 64  # tokenizer_config.json, model_max_length
    long = "water " * 500
    assert (bert.encode(long) == bert.encode(long + " the first day")).all()
    assert (bert.encode(long, max_length=10**6) == bert.encode(long)).all()
    assert not (bert.encode(long, max_length=10) == bert.encode(long)).all()
    assert (bert.encode(long, max_length=10) == bert.encode("water " * 100, max_length=10)).all()
    with pytest.raises(ValueError, match=r"texts\[0\]: max_length 1: expected at least 2, the number of special tokens"):
        bert.encode(["a b c"], max_length=1)


def test_prompts(bert):
    assert bert.prompts == {"document": "", "passage": "passage: ", "query": "query: "} and bert.default_prompt_name is None
    want = bert.encode("query: who was it")
    assert (bert.encode("who was it", prompt="query: ") == want).all()
    assert (bert.encode("who was it", "query") == want).all()
    assert (bert.encode("who was it", "passage", "query: ") == want).all()
    assert (bert.encode_query(["who was it"])[0] == want).all()
    assert (bert.encode_query("who was it", "passage") == bert.encode("passage: who was it")).all()
    assert (bert.encode_document("who was it", batch_size=1) == bert.encode("who was it")).all()
    assert (bert.encode_document("who was it", "passage") == bert.encode("passage: who was it")).all()
    with pytest.raises(ValueError, match=r"prompt_name: 'nowhere', expected one of \['document', 'passage', 'query'\]"):
        bert.encode("a", "nowhere")


def test_a_default_prompt(tmp_path, bert):
    folder = tmp_path / "model"
    folder.mkdir()
    for file in (MODELS / "tiny-bert").iterdir():
        if file.name != "config_sentence_transformers.json":
            (folder / file.name).symlink_to(file)
    (folder / "config_sentence_transformers.json").write_text(json.dumps(
        {"prompts": {"q": "query: "}, "default_prompt_name": "q", "similarity_fn_name": "dot", "truncate_dim": 7}))
    embedder = Embedder(folder, dtype="f32", threads=1)
    assert embedder.similarity_fn_name == "dot" and embedder.get_sentence_embedding_dimension() == 7
    assert embedder.default_prompt_name == "q" and embedder.prompts == {"q": "query: ", "query": "", "document": ""}
    assert (embedder.encode("a b") == bert.encode("query: a b")[:7]).all()
    assert (embedder.encode_query("a b") == bert.encode("a b")[:7]).all()  # whose prompt is empty: the default is for encode
    assert (embedder.encode("a b", prompt="", truncate_dim=9) == bert.encode("a b")[:9]).all()
    embedder.truncate_dim = 5
    assert pickle.loads(pickle.dumps(embedder)).encode("a b").shape == (5,)


@pytest.mark.parametrize("config, said", [({"similarity_fn_name": ["x"]}, "similarity_fn_name: .'x'., expected one of"),
                                          ({"truncate_dim": "8"}, "config_sentence_transformers.json: truncate_dim: '8'"),
                                          ({"truncate_dim": -4}, "config_sentence_transformers.json: truncate_dim: -4")])
def test_a_wrong_config(tmp_path, config, said):
    folder = tmp_path / "model"
    folder.mkdir()
    for file in (MODELS / "tiny-bert").iterdir():
        if file.name != "config_sentence_transformers.json":
            (folder / file.name).symlink_to(file)
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=said):
        Embedder(folder, dtype="f32", threads=1)


def test_similarity(bert):
    one, other = np.array([[3, 4], [0, 0]], dtype=np.float32), np.array([[3, 4], [4, -3], [6, 8]], dtype=np.float32)
    for name, want in {"cosine": [[1, 0, 1], [0, 0, 0]], "dot": [[25, 0, 50], [0, 0, 0]],
                       "euclidean": [[0, -50 ** 0.5, -5], [-5, -5, -10]], "manhattan": [[0, -8, -7], [-7, -7, -14]]}.items():
        got = tiny(similarity_fn_name=name).similarity(one, other)
        assert got.dtype == np.float32 and np.allclose(got, want, atol=1e-6), name
    assert np.allclose(bert.similarity(one[0], other), [[1, 0, 1]])
    with pytest.raises(ValueError, match="embeddings2: 3 dimensions, expected 2, as embeddings1 has"):
        bert.similarity(one, np.zeros((1, 3)))
    with pytest.raises(ValueError, match="similarity_fn_name: 'l2', expected one of cosine, dot"):
        tiny(similarity_fn_name="l2")
    assert bert.similarity([], []).shape == (0, 0) and bert.similarity([], one).shape == (0, 2)
    for wrong in (None, np.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match="embeddings1: .*, expected a vector or a list of them"):
            bert.similarity(wrong, one)


def test_scores_are_the_references(reranker):
    pairs = reference("tiny-reranker")["pairs"]
    want = np.array([pair["logits"][0] for pair in pairs])
    asked = [(pair["query"], pair["document"]) for pair in pairs]
    got = reranker.predict(asked, raw_scores=True)
    assert got.dtype == np.float32 and np.abs(got - want).max() < TOLERANCE
    assert np.allclose(reranker.predict([list(pair) for pair in asked]), 1 / (1 + np.exp(-want)), atol=TOLERANCE)


def test_rank(reranker):
    query, documents = "who can find water", [pair["document"] for pair in reference("tiny-reranker")["pairs"]]
    scores = reranker.predict([(query, document) for document in documents])
    ranked = reranker.rank(query, documents, 3, return_documents=True)
    assert [one["corpus_id"] for one in ranked] == sorted(range(len(documents)), key=lambda i: -scores[i])[:3]
    for one in ranked:
        assert one["text"] == documents[one["corpus_id"]] and one["score"] == scores[one["corpus_id"]]
    assert [one["corpus_id"] for one in reranker.rank(query, ["no"] * 4)] == [0, 1, 2, 3]


def test_how_a_model_is_named():
    assert repr(Embedder(f"{MODELS}/tiny-bert,dtype=f32,threads=2")).endswith("tiny-bert', dtype='f32', threads=2)")
    assert repr(Embedder(f"{MODELS}/tiny-bert,dtype=f32,threads=2", threads=1)).endswith("dtype='f32', threads=1)")
    with pytest.raises(ValueError, match='dtype: "f64", expected auto, f32, bf16 or int8'):
        tiny(dtype="f64")
    with pytest.raises(ValueError, match="threads: -1, expected a number from 0 to 1024"):
        tiny(threads=-1)
    with pytest.raises(ValueError, match='dtype: "f64", expected auto, f32, bf16 or int8'):
        Embedder(f"{MODELS}/tiny-bert,dtype=f64")
    with pytest.raises(ValueError, match='key: "layers", expected dtype or threads'):
        Embedder(f"{MODELS}/tiny-bert,layers=3")


def test_what_cannot_be(tmp_path, bert, reranker):
    for call in (lambda: bert.predict([("a", "b")]), lambda: bert.rank("a", ["b"])):
        with pytest.raises(ValueError, match="tiny-bert: a model with 0 labels, expected a reranker, which has one"):
            call()
    with pytest.raises(ValueError, match="3 labels, expected a reranker"):
        tiny("tiny-bert-classifier").predict([("a", "b")])
    with pytest.raises(ValueError, match="tiny-reranker: a classifier, expected a model that embeds"):
        reranker.encode("a")
    with pytest.raises(ValueError, match=r"pairs\[1\]: one text, expected a pair"):
        reranker.predict([("a", "b"), "c"])
    with pytest.raises(ValueError, match=r"texts\[0\]: a pair, expected one text"):
        bert.encode([("a", "b")])
    for dimensions in (0, -1, 999):
        with pytest.raises(ValueError, match=f"dimensions: {dimensions}, expected 1 to the model's 36"):
            bert.encode("a", truncate_dim=dimensions)
    with pytest.raises(ValueError, match='pooling: "max", expected model, mean, cls or last'):
        bert.encode("a", pooling="max")
    for batch_size in (0, -1):
        with pytest.raises(ValueError, match=f"batch_size: {batch_size}, expected at least 1"):
            bert.encode("a", batch_size=batch_size)
    with pytest.raises(ValueError, match="max_length: -1, expected at least 0"):
        bert.encode("a", max_length=-1)
    with pytest.raises(ValueError, match=r"texts\[1\]: a lone surrogate at character 2, expected Unicode text"):
        bert.encode(["a", "ab\ud800"])
    with pytest.raises(ValueError, match="prompt: a lone surrogate at character 0"):
        bert.encode("a", prompt="\ud800")
    with pytest.raises(TypeError, match=r"texts\[0\]"):
        bert.encode([1])
    with pytest.raises(TypeError, match="documents: one str, expected a list"):
        reranker.rank("a", "b")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Embedder(tmp_path / "nowhere")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="config.json: model_type"):
        Embedder(tmp_path)


def test_the_bar_shows_every_text(bert, capsys):
    pytest.importorskip("tqdm")
    bert.encode(TEXTS * 10, batch_size=16, show_progress_bar=True)
    assert "40/40" in capsys.readouterr().err
