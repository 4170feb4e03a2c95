#!/usr/bin/env python3
"""tools/examples/openai_client.py against trellis-gateway: example_test.py --gateway PATH --model DIR"""
import json
import subprocess
import sys

from running_gateway import ROOT, TINY_MODELS, assert_near, gateway, parse_arguments, reference, run

ARGUMENTS = parse_arguments()


def vectors_are_the_references():
    texts = [t for t in reference("tiny-bert")["texts"] if t["text"] and "prompt_name" not in t]
    many = texts * (600 // len(texts))  # more than one request
    with gateway(ARGUMENTS.gateway, TINY_MODELS / "tiny-bert", "--dtype", "f32") as url:
        done = subprocess.run([sys.executable, ROOT / "tools" / "examples" / "openai_client.py", url], capture_output=True,
                              input="".join(t["text"] + "\n" for t in many).encode(), timeout=300)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.decode().splitlines()
        assert len(lines) == len(many) > 512, len(lines)
        for line, text in zip(lines, many):
            assert_near(json.loads(line), text["embedding"])


run(vectors_are_the_references)
