#!/usr/bin/env python3
"""tools/examples/ask_gateway.sh against trellis-gateway on a tiny model: the reference's ids and vectors.

  gateway_test.py --gateway build/release/bin/trellis-gateway
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "serve" / "gateway" / "clients"))
from running_gateway import TINY_MODELS, assert_near, gateway, reference  # noqa: E402

SCRIPT = ROOT / "tools" / "examples" / "ask_gateway.sh"


def ask(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, timeout=120)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gateway", required=True)
    program = parser.parse_args().gateway
    rows = [text for text in reference("tiny-bert")["texts"] if text["text"] and "prompt_name" not in text]
    assert len(rows) >= 2, rows
    with gateway(program, TINY_MODELS / "tiny-bert", "--dtype", "f32") as url:
        done = ask(url, json.dumps([row["text"] for row in rows]))
        assert done.returncode == 0, done.stderr
        model, vectors, tokens = map(json.loads, done.stdout.decode().splitlines())
        assert model["model_id"].endswith("tiny-bert"), model
        assert len(vectors["data"]) == len(tokens) == len(rows), (vectors, tokens)
        for row, item, ids in zip(rows, vectors["data"], tokens):
            assert_near(item["embedding"], row["embedding"])
            assert [token["id"] for token in ids] == row["ids"], (ids, row["ids"])
        refused = ask(url, '"no array')
        assert refused.returncode == 22 and b"error" in refused.stdout, refused
    print(f"gateway_test: {len(rows)} texts")


if __name__ == "__main__":
    main()
