"""N-best and samples beside sentencepiece's (tests/golden/sp_sampling.jsonl says which version and how)."""
import json

import pytest

import trellis
from reference_cases import GOLDEN

ROWS = [json.loads(line) for line in open(GOLDEN / "sp_sampling.jsonl", encoding="utf-8")]


@pytest.fixture(scope="module")
def models():
    return {file.stem: trellis.Tokenizer.from_file(file) for file in (GOLDEN / "sp_models").glob("*.model")}


def test_nbest(models):
    rows = [row for row in ROWS if row.get("kind") == "nbest"]
    assert len(rows) > 500
    for row in rows:
        ways = models[row["model"]].encode_nbest(row["text"], row["count"])
        assert [way.ids for way in ways] == row["ids"], row
        for one, other in zip(ways, ways[1:]):  # the order is of sums from the other end
            assert one.score >= other.score - 1e-6 * abs(other.score), row


def test_samples(models):
    rows = [row for row in ROWS if row.get("kind") == "sample"]
    assert len(rows) > 400
    for row in rows:
        sampler = models[row["model"]].sampler(row["seed"], nbest_size=row["nbest_size"], alpha=row["alpha"])
        assert [sampler.encode(row["text"]).ids for _ in row["ids"]] == row["ids"], row


def test_what_a_way_says(models):
    tokenizer = models["identity"]
    text = "\u2603 abcabc cba"
    for way in tokenizer.encode_nbest(text, 6):
        assert way.tokens == [tokenizer.id_to_token(id) for id in way.ids] and len(way) == len(way.ids)
        assert way.offsets[0][0] == 0 and way.offsets[-1][1] == len(text)
        for token, (begin, end) in zip(way.tokens, way.offsets):
            if "\u2603" not in text[begin:end] and tokenizer.token_to_id(token) != tokenizer.unk_id:
                assert token.replace("\u2581", "").strip() == text[begin:end].strip()
    assert repr(way).startswith("Segmentation([") and "score=-" in repr(way)
    assert [way.ids for way in tokenizer.encode_nbest(text.encode(), 6)] == [way.ids for way in tokenizer.encode_nbest(text, 6)]
    assert tokenizer.encode_nbest(text, 1)[0].ids == tokenizer.encode(text, add_special_tokens=False).ids


def test_without_a_seed_it_is_another_one(models):
    text = "abcabc cba aaaa abab " * 8
    drawn = {tuple(models["identity"].sampler(alpha=0.0).encode(text).ids) for _ in range(8)}
    assert len(drawn) > 1


def test_what_cannot_be(models, tokenizer):
    for call in (lambda: tokenizer.encode_nbest("a", 3), lambda: tokenizer.sampler(1)):
        with pytest.raises(trellis.UnsupportedError, match="dialect: Hugging Face, expected SentencePiece's"):
            call()
    for nbest_size in (0, -1, 1025):
        with pytest.raises(ValueError, match=f"nbest_size: {nbest_size}, expected 1 to 1024"):
            models["identity"].encode_nbest("a", nbest_size)
    with pytest.raises(ValueError, match="nbest_size: 513, expected at most 512"):
        models["identity"].sampler(1, nbest_size=513)
    with pytest.raises(ValueError, match="alpha: nan, expected a finite number"):
        models["identity"].sampler(1, alpha=float("nan"))
    with pytest.raises(ValueError, match="text: a lone surrogate"):
        models["identity"].sampler(1).encode("\ud800")
