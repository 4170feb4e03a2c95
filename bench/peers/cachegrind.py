"""Instructions and cache misses of one encode in steady state, by valgrind's cachegrind.

A program encodes one text many times, and in another process the shortest text a few times; the difference, divided by
the times, is one encode without loading. The caches are simulated with stated sizes, not with this machine's. Valgrind
has no AVX-512: programs that choose at run time take their AVX2 path.

Counts are deterministic, and loading takes minutes: what was counted is kept beside the peers, by the bytes of program,
model and text.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

FEW = 3
# Enough that first calls, and what loading varies from run to run, are lost: about so many tokens.
MANY_TOKENS = 400_000
CACHES = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=33554432,16,64"]
COUNTERS = {
    "instructions": re.compile(r"I\s+refs:\s+([\d,]+)"),
    "first_level_misses": re.compile(r"D1\s+misses:\s+([\d,]+)"),
    "last_level_misses": re.compile(r"LLd misses:\s+([\d,]+)"),
}


def run(program, path, iterations):
    # Without a random layout of memory all runs load alike.
    command = ["setarch", "--addr-no-randomize", "valgrind", "--tool=cachegrind", *CACHES,
               "--cachegrind-out-file=/dev/null", *program.arguments(path, "repeated"), "--iterations", str(iterations)]
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{program.name} under cachegrind: exit status {result.returncode}\n{result.stderr[-2000:]}")
    return {name: int(pattern.search(result.stderr).group(1).replace(",", "")) for name, pattern in COUNTERS.items()}


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def model_digest(model):
    files = [model] if model.is_file() else sorted(p for p in model.iterdir() if p.name == "tokenizer.json")
    return [digest(p) for p in files]


def kept(program, text, iterations, build):
    """The counts of one run, made when they are not there."""
    path = build / "texts-cachegrind.json"
    path.write_text(json.dumps([["text", text]], ensure_ascii=False), encoding="utf-8")
    programs = [digest(part) for part in program.command if pathlib.Path(part).is_file()]
    name = hashlib.sha256(json.dumps([programs, model_digest(program.model), program.options, text, iterations, CACHES])
                          .encode()).hexdigest()[:24]
    file = build / "cachegrind" / f"{name}.json"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        counts = run(program, path, iterations)
        file.write_text(json.dumps(counts))
    return json.loads(file.read_text())


def count(program, texts, build):
    """{size: counts of one encode} of {size: text}"""
    shortest = min(texts)
    few = kept(program, texts[shortest], FEW, build)
    found = {}
    for tokens, text in sorted(texts.items()):
        print(f"cachegrind: {program.name}, {tokens} tokens", file=sys.stderr)
        times = max(8, MANY_TOKENS // tokens)
        many = kept(program, text, times, build)
        found[tokens] = {name: max(0, round((many[name] - few[name]) / times)) for name in COUNTERS}
    return found
