#!/usr/bin/env python3
"""Cohere's client, and plain ones of its kind, rank with trellis-gateway: cohere_test.py --gateway PATH --model DIR"""
import math

import cohere
import httpx

from running_gateway import TINY_MODELS, assert_near, gateway, parse_arguments, reference, run

ARGUMENTS = parse_arguments()
QUERY = "who can find water"
PAIRS = [pair for pair in reference("tiny-reranker")["pairs"] if pair["query"] == QUERY]
DOCUMENTS = [pair["document"] for pair in PAIRS]
SCORES = [1 / (1 + math.exp(-pair["logits"][0])) for pair in PAIRS]
BEST = sorted(range(len(PAIRS)), key=lambda place: -SCORES[place])


def reranker(*flags):
    return gateway(ARGUMENTS.gateway, TINY_MODELS / "tiny-reranker", "--dtype", "f32", *flags)


def the_second_version_of_the_client():
    with reranker("--api-key", "secret") as url:
        client = cohere.ClientV2(api_key="secret", base_url=url)
        answer = client.rerank(model="tiny-reranker", query=QUERY, documents=DOCUMENTS)
        assert [result.index for result in answer.results] == BEST
        assert_near([result.relevance_score for result in answer.results], [SCORES[place] for place in BEST])
        assert answer.id and answer.meta.api_version.version == "2" and answer.meta.billed_units.search_units == 1
        first = client.rerank(model="tiny-reranker", query=QUERY, documents=DOCUMENTS, top_n=1, max_tokens_per_doc=4096)
        assert [result.index for result in first.results] == BEST[:1]
        for error, options in ((cohere.errors.NotFoundError, {"model": "rerank-v3.5", "documents": ["a"]}),
                               (cohere.errors.BadRequestError, {"model": "tiny-reranker", "documents": []})):
            try:
                client.rerank(query=QUERY, **options)
                raise AssertionError(f"no {error.__name__}")
            except error:
                pass
        try:
            cohere.ClientV2(api_key="wrong", base_url=url).rerank(model="tiny-reranker", query=QUERY, documents=["a"])
            raise AssertionError("no UnauthorizedError")
        except cohere.errors.UnauthorizedError:
            pass


def the_first_version_of_the_client():
    with reranker() as url:
        answer = cohere.Client(api_key="unused", base_url=url).rerank(
            model="tiny-reranker", query=QUERY, documents=[{"text": document} for document in DOCUMENTS],
            return_documents=True)
        assert [result.index for result in answer.results] == BEST
        assert [result.document.text for result in answer.results] == [DOCUMENTS[place] for place in BEST]
        assert_near([result.relevance_score for result in answer.results], [SCORES[place] for place in BEST])


def clients_of_tei_and_jina():
    with reranker() as url, httpx.Client(base_url=url) as client:  # one connection
        tei = client.post("/rerank", json={"query": QUERY, "texts": DOCUMENTS, "return_text": True}).json()
        assert [result["index"] for result in tei] == BEST
        assert [result["text"] for result in tei] == [DOCUMENTS[place] for place in BEST]
        assert_near([result["score"] for result in tei], [SCORES[place] for place in BEST])
        for path in ("/rerank", "/v1/rerank"):
            jina = client.post(path, json={"model": "tiny-reranker", "query": QUERY, "documents": DOCUMENTS}).json()
            assert_near([result["relevance_score"] for result in jina["results"]], [SCORES[place] for place in BEST])
            assert jina["usage"]["total_tokens"] == sum(len(pair["ids"]) for pair in PAIRS)
        raw = client.post("/v1/score", json={"text_1": QUERY, "text_2": DOCUMENTS, "raw_scores": True}).json()
        assert_near([item["score"] for item in raw["data"]], [pair["logits"][0] for pair in PAIRS])


if __name__ == "__main__":
    run(the_second_version_of_the_client, the_first_version_of_the_client, clients_of_tei_and_jina)
