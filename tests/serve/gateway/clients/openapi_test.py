#!/usr/bin/env python3
"""Holds the gateway's answers against its own description.

  python openapi_test.py --gateway PATH --model DIR

/openapi.json must be valid OpenAPI, and each answer, good or bad, must be of the form that it gives for the route
and the status. Besides the model that is named, the tiny ones beside this folder are served, for the routes that it
does not have.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import urllib.error
import urllib.request

import jsonschema
import openapi_spec_validator

TINY = pathlib.Path(__file__).resolve().parents[2] / "models"
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


class Gateway:
    def __init__(self, program, model):
        self.process = subprocess.Popen([program, "--model", str(model), "--port", "0", "--threads", "1"],
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if match := re.search(r"ready on (127\.0\.0\.1:\d+)", line):
                self.address = "http://" + match[1]
                return
        raise SystemExit(f"openapi_test: the gateway did not start on {model}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.stderr.read()
        self.process.wait()

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


def check(api, path, method, status, body, where):
    """Fails where the body is not of the form for the status."""
    responses = api["paths"][path][method]["responses"]
    content = responses.get(str(status), responses["default"])["content"]
    if "application/json" not in content:
        return
    schema = {**content["application/json"]["schema"], "components": api["components"]}
    jsonschema.Draft202012Validator(schema).validate(json.loads(body))
    print(f"openapi_test: {where} {method} {path}: {status}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    served = set()
    for model in [arguments.model, TINY / "tiny-m3", TINY / "tiny-reranker", TINY / "tiny-bert-classifier"]:
        name = os.path.basename(os.path.normpath(model))
        with Gateway(arguments.gateway, model) as gateway:
            api = json.loads(gateway.ask("/openapi.json")[1])
            openapi_spec_validator.validate(api)
            for path, methods in api["paths"].items():
                if "get" in methods:
                    status, body = gateway.ask(path)
                    assert status == 200, (path, status)
                    check(api, path, "get", status, body, name)
                    served.add(path)
            for path, body in POSTS:
                request = api["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
                right = jsonschema.Draft202012Validator({**request, "components": api["components"]}).is_valid(body)
                status, answer = gateway.ask(path, body)
                check(api, path, "post", status, answer, name)
                # What the description forbids is refused; what it allows may still not be for this model.
                assert right or status != 200, (path, body, status)
                if status == 200:
                    served.add(path)
    missing = set(api["paths"]) - served
    assert not missing, f"never answered with 200: {sorted(missing)}"
    print(f"openapi_test: {len(served)} paths, every answer as described")


if __name__ == "__main__":
    main()
