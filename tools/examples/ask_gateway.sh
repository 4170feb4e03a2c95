#!/bin/sh
# What a running gateway says of texts, by curl: the model, vectors as OpenAI's clients get them, tokens.
#
#   trellis-gateway --model models/multilingual-e5-small &
#   tools/examples/ask_gateway.sh http://127.0.0.1:8080 '["Hello world", "Hallo Welt"]'
set -eu

url=${1:-http://127.0.0.1:8080}
texts=${2:-'["Hello world", "Hallo Welt", "Good night"]'}  # a JSON array

# --fail-with-body: status 22 when the gateway refuses, and still its reason.
get() { curl -sS --fail-with-body "$url$1" && echo; }
post() { curl -sS --fail-with-body -H 'content-type: application/json' -d "$2" "$url$1" && echo; }

get /info
post /v1/embeddings "{\"input\": $texts}"
post /tokenize "{\"inputs\": $texts}"
