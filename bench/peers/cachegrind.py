"""Instructions and cache misses of one encode in steady state, by valgrind's cachegrind.

A program encodes one text a few times and, in another process, more times; the difference, divided by the extra times,
is one encode without loading. The caches are simulated with stated sizes, not with this machine's. Valgrind has no
AVX-512: programs that choose at run time take their AVX2 path.
"""

import json
import re
import subprocess
import sys

FEW = 3
# Enough that what loading varies from run to run is lost: about so many tokens more, and at least four times.
MORE_TOKENS = 100_000
CACHES = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=33554432,16,64"]
COUNTERS = {
    "instructions": re.compile(r"I\s+refs:\s+([\d,]+)"),
    "first_level_misses": re.compile(r"D1\s+misses:\s+([\d,]+)"),
    "last_level_misses": re.compile(r"LLd misses:\s+([\d,]+)"),
}


def run(program, path, iterations):
    # Without a random layout of memory both runs load alike.
    command = ["setarch", "--addr-no-randomize", "valgrind", "--tool=cachegrind", *CACHES,
               "--cachegrind-out-file=/dev/null", *program.arguments(path, "repeated"), "--iterations", str(iterations)]
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{program.name} under cachegrind: exit status {result.returncode}\n{result.stderr[-2000:]}")
    return {name: int(pattern.search(result.stderr).group(1).replace(",", "")) for name, pattern in COUNTERS.items()}


def count(program, text, tokens, build):
    print(f"cachegrind: {program.name}, {tokens} tokens", file=sys.stderr)
    path = build / "texts-cachegrind.json"
    path.write_text(json.dumps([["text", text]], ensure_ascii=False), encoding="utf-8")
    extra = max(4, MORE_TOKENS // tokens)
    few, more = run(program, path, FEW), run(program, path, FEW + extra)
    return {name: max(0, round((more[name] - few[name]) / extra)) for name in COUNTERS}
