#!/usr/bin/env python3
"""A vector for each line of stdin, from a running gateway, by OpenAI's own client (python3 -m pip install openai).

  trellis-gateway --model models/multilingual-e5-small &
  echo "Hello world" | tools/examples/openai_client.py http://127.0.0.1:8080
"""
import json
import sys

import openai

ROWS = 256  # in a request; the gateway takes up to --max-client-batch-size


def main():
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
    # Any key does, unless the gateway was started with --api-key.
    client = openai.OpenAI(base_url=url + "/v1", api_key="unused")
    model = client.models.list().data[0].id
    texts = sys.stdin.read().splitlines()
    for start in range(0, len(texts), ROWS):
        answer = client.embeddings.create(model=model, input=texts[start:start + ROWS])
        for item in answer.data:
            print(json.dumps(item.embedding))


if __name__ == "__main__":
    main()
