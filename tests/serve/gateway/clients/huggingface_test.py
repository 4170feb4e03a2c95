#!/usr/bin/env python3
"""huggingface_hub's InferenceClient against trellis-gateway: huggingface_test.py --gateway PATH --model DIR"""
import math

from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

from running_gateway import TINY_MODELS, assert_near, cosine, gateway, parse_arguments, reference, run

ARGUMENTS = parse_arguments()


def feature_extraction():
    texts = [t for t in reference("tiny-bert")["texts"] if t["text"] and "prompt_name" not in t]
    with gateway(ARGUMENTS.gateway, TINY_MODELS / "tiny-bert", "--dtype", "f32") as url:
        client = InferenceClient(model=url + "/embed")
        for text in texts:
            vectors = client.feature_extraction(text["text"])
            assert vectors.shape == (1, len(text["embedding"])), vectors.shape
            assert_near(vectors[0].tolist(), text["embedding"])
        raw = client.feature_extraction("water", normalize=False)
        assert abs(cosine(raw[0].tolist(), client.feature_extraction("water")[0].tolist()) - 1) < 1e-6
        prompted = client.feature_extraction("water", prompt_name="query")
        assert (prompted == client.feature_extraction("query: water")).all()
        longest = "water " * 100
        cut = client.feature_extraction(longest + "model", truncate=True, truncation_direction="right")
        assert (cut == client.feature_extraction(longest)).all()
        try:
            client.feature_extraction(longest, truncate=False)
            raise AssertionError("no error")
        except HfHubHTTPError as error:
            assert error.response.status_code == 422, error
            assert "expected at most 64" in str(error) or "expected at most 64" in error.response.text, error


def sentence_similarity():
    with gateway(ARGUMENTS.gateway, ARGUMENTS.model) as url:
        sentences = ["query: Where is the station?", "query: How do I cook rice?"]
        source = "query: How do I get to the station?"
        cosines = InferenceClient(model=url + "/similarity").sentence_similarity(source, sentences)
        embed = InferenceClient(model=url + "/embed")
        vectors = [embed.feature_extraction(text)[0].tolist() for text in (source, *sentences)]
        assert_near(cosines, [cosine(vectors[0], vector) for vector in vectors[1:]])
        assert cosines[0] > cosines[1], cosines


def text_classification():
    pair = reference("tiny-bert-classifier")["pairs"][0]
    names = ["contradiction", "entailment", "neutral"]
    with gateway(ARGUMENTS.gateway, TINY_MODELS / "tiny-bert-classifier", "--dtype", "f32") as url:
        client = InferenceClient(model=url + "/predict")
        # The client has no pairs; it passes on what it is given.
        best = client.text_classification([[pair["query"], pair["document"]]])
        shares = [math.exp(logit) for logit in pair["logits"]]
        expected = sorted(zip((share / sum(shares) for share in shares), names), reverse=True)
        for element, (score, label) in zip(best, expected, strict=True):
            assert element.label == label and abs(element.score - score) < 1e-5, (element, expected)
        lone = client.text_classification("water")
        assert lone.label in names, lone


def what_is_not_ready_is_told_so():
    with gateway(ARGUMENTS.gateway, TINY_MODELS / "tiny-bert", "--backend", "127.0.0.1:1", until="listening on") as url:
        try:
            InferenceClient(model=url + "/embed").feature_extraction("a")
            raise AssertionError("no error")
        except HfHubHTTPError as error:
            assert error.response.status_code == 503 and "being loaded" in str(error), error


if __name__ == "__main__":
    run(feature_extraction, sentence_similarity, text_classification, what_is_not_ready_is_told_so)
