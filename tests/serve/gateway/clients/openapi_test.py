#!/usr/bin/env python3
"""The gateway's answers against its own description: openapi_test.py --gateway PATH --model DIR

/openapi.json must be valid OpenAPI, and each answer, good or bad, must be of the form that it gives for the route
and the status. Besides the model that is named, tiny ones are served, for the routes that it does not have.
"""
import json
import urllib.error
import urllib.request

import jsonschema
import openapi_spec_validator

from running_gateway import TINY_MODELS, gateway, parse_arguments

ARGUMENTS = parse_arguments()
MODELS = [ARGUMENTS.model, *(TINY_MODELS / name for name in ("tiny-m3", "tiny-reranker", "tiny-bert-classifier"))]
# Path and body; in each model some are answered and the others refused, and both have a form.
POSTS = [
    ("/v1/embeddings", {"input": "water"}),
    ("/v1/embeddings", {"input": ["water", "a"], "encoding_format": "base64", "dimensions": 4}),
    ("/embeddings", {"input": [[5, 6], [7]], "normalize": False}),
    ("/v1/embeddings", {"input": []}),
    ("/v1/embeddings", {"input": "a", "model": "none"}),
    ("/v1/rerank", {"query": "a", "documents": ["water", {"text": "a"}], "return_documents": True}),
    ("/v2/rerank", {"query": "a", "documents": ["water"], "top_n": 1}),
    ("/v1/score", {"text_1": "a", "text_2": ["water", "a"]}),
    ("/score", {"queries": ["a"], "documents": "water"}),
    ("/embed", {"inputs": ["water", "a"]}),
    ("/embed", {"inputs": 5}),
    ("/embed_all", {"inputs": "water"}),
    ("/embed_sparse", {"inputs": "water"}),
    ("/rerank", {"query": "a", "texts": ["water", "a"], "return_text": True}),
    ("/rerank", {"query": "a", "documents": ["water", "a"]}),
    ("/predict", {"inputs": "water"}),
    ("/predict", {"inputs": [["water"], ["water", "a"]], "raw_scores": True}),
    ("/similarity", {"inputs": {"source_sentence": "a", "sentences": ["water", "a"]}, "parameters": {"truncate": True}}),
    ("/tokenize", {"inputs": ["water", "a"]}),
    ("/decode", {"ids": [[5, 6], [7]]}),
]


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def is_valid(api, schema, value):
    return jsonschema.Draft202012Validator({**schema, "components": api["components"]}).is_valid(value)


def check(api, path, method, status, body):
    responses = api["paths"][path][method]["responses"]
    content = responses.get(str(status), responses["default"])["content"]
    if "application/json" in content:
        assert is_valid(api, content["application/json"]["schema"], json.loads(body)), (method, path, status, body[:500])


def check_model(url):
    """The paths that were answered with 200, and all."""
    served = set()
    api = json.loads(ask(url + "/openapi.json")[1])
    openapi_spec_validator.validate(api)
    for path, methods in api["paths"].items():
        if "get" in methods:
            status, body = ask(url + path)
            assert status == 200, (path, status)
            check(api, path, "get", status, body)
            served.add(path)
    for path, body in POSTS:
        request = api["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        status, answer = ask(url + path, body)
        check(api, path, "post", status, answer)
        # What the description forbids is refused; what it allows may still not be for this model.
        assert is_valid(api, request, body) or status != 200, (path, body, status)
        if status == 200:
            served.add(path)
    return served, set(api["paths"])


def main():
    served, paths = set(), set()
    for model in MODELS:
        with gateway(ARGUMENTS.gateway, model) as url:
            more, paths = check_model(url)
            served |= more
    assert served == paths, f"never answered with 200: {sorted(paths - served)}"
    print(f"ok {len(served)} paths, every answer as described")


if __name__ == "__main__":
    main()
