#!/usr/bin/env python3
"""What nvcc made of the kernels, without a GPU: whether the instructions are there that make them fast.

  tools/cuda_sass_lint.py OBJECT... [--toolkit build/cuda] [--table]

For each kernel and architecture: tensor cores where products are, vectors of 16 bytes where the text says vectors, nothing
spilled to memory, no pointer whose memory is not known, no more registers than leave room for enough threads. A kernel without a rule is a fault, and so is a rule
without a kernel. --table prints what was found. Ends with status 1 when there is a fault.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ARCHITECTURES = ["sm_80", "sm_90"]

WIDE_LOAD = r"LDG\.E\.(?:\w+\.)*128"
WIDE_STORE = r"STG\.E\.(?:\w+\.)*128"
ATTENTION = [r"LDGSTS\.E\.(?:\w+\.)*128", r"LDSM\.16\.M88\.4", r"LDSM\.16\.MT88\.4", WIDE_STORE]
VECTORS = [WIDE_LOAD, WIDE_STORE]

# Kernel and template arguments (type 0 is bf16, 1 fp16), what must be there, most registers. 65,536 registers are 128 threads
# of 512, of which a kernel that waits for memory wants many: 64 leave half of a processor's threads. The limits are a little
# above what nvcc 13.0.88 needs, so that a change that costs registers is seen. The first match decides.
RULES = [
    (r"MmaAttentionKernel<0, 32>", [r"HMMA\.16816\.F32\.BF16", *ATTENTION], 128),
    (r"MmaAttentionKernel<1, 32>", [r"HMMA\.16816\.F32(?!\.BF16)", *ATTENTION], 128),
    (r"MmaAttentionKernel<0, 64>", [r"HMMA\.16816\.F32\.BF16", *ATTENTION], 144),
    (r"MmaAttentionKernel<1, 64>", [r"HMMA\.16816\.F32(?!\.BF16)", *ATTENTION], 144),
    (r"MmaAttentionKernel<0, 128>", [r"HMMA\.16816\.F32\.BF16", *ATTENTION], 168),
    (r"MmaAttentionKernel<1, 128>", [r"HMMA\.16816\.F32(?!\.BF16)", *ATTENTION], 168),
    (r"ReferenceAttentionKernel<.>", [], 96),
    (r"AddNormKernel<., 8, [1-4]>", VECTORS, 80),
    (r"EmbedKernel<., 8, [1-4]>", VECTORS, 96),
    (r"(AddNorm|Embed)Kernel<., 8, 8>", VECTORS, 168),
    (r"(AddNorm|Embed)Kernel<., 1, 4>", [], 64),
    (r"(AddNorm|Embed)Kernel<., 1, 32>", [], 255),  # of odd sizes above 128, which no model in use has
    (r"ActivateKernel<., [012]>", VECTORS, 64),
    (r"(Narrow|Widen)Kernel<.>", VECTORS, 64),
    (r"PoolKernel<., 8>", [WIDE_LOAD, r"STS\.128"], 64),
    (r"TokenVectorsKernel<., 8>", VECTORS, 64),
    (r"TokenWeightsKernel<., 8>", [WIDE_LOAD], 72),
    (r"(Pool|TokenVectors|TokenWeights)Kernel<., 1>", [], 64),
    (r"(Dense|FinishRows)Kernel", [], 64),
]


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cuda_sass_lint: {program} {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def plain(name):
    """trellis::engine::cuda::kernels::PoolKernel<(trellis::engine::cuda::HalfType)0, 8>(...) -> PoolKernel<0, 8>"""
    name = re.sub(r"\((?:trellis::engine::cuda::)(?:HalfType|Curve)\)", "", name)
    return re.sub(r"^(?:void )?trellis::engine::cuda::kernels::([^(]*).*", r"\1", name)


def sections(text, function):
    """(architecture, mangled name, line) of each line of cuobjdump's that belongs to a function."""
    architecture = name = None
    for line in text.splitlines():
        if match := re.match(r"arch = (\S+)", line):
            architecture, name = match[1], None
        elif match := re.match(function, line):
            name = match[1]
        elif name is not None:
            yield architecture, name, line


def found(toolkit, objects):
    """{(architecture, kernel): {"code": its instructions, "registers": int, "stack": bytes}}"""
    cuobjdump = os.path.join(toolkit, "bin", "cuobjdump")
    os.environ["PATH"] = os.path.join(toolkit, "bin") + os.pathsep + os.environ["PATH"]  # where it looks for nvdisasm
    kernels = {}
    for path in objects:
        for architecture, name, line in sections(run(cuobjdump, "--dump-sass", path), r"\s*Function : (\S+)"):
            if match := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+ )?(\S+)", line):
                kernels.setdefault((architecture, name), {"code": []})["code"].append(match[1])
        for architecture, name, line in sections(run(cuobjdump, "--dump-resource-usage", path), r"\s*Function (\S+):"):
            if match := re.search(r"REG:(\d+) STACK:(\d+)", line):
                kernels.setdefault((architecture, name), {"code": []}).update(registers=int(match[1]), stack=int(match[2]))
    names = sorted({name for _, name in kernels})
    readable = dict(zip(names, map(plain, run("c++filt", *names).splitlines())))
    return {(architecture, readable[name]): what for (architecture, name), what in kernels.items()}


def faults_of(kernel, what, required, most_registers):
    code = what["code"]
    if not code or "registers" not in what:
        return ["no code, or no resource usage, in what cuobjdump says"]
    faults = [f"no {pattern}" for pattern in required if not any(re.match(pattern, op) for op in code)]
    spills = sum(op.startswith(("LDL", "STL")) for op in code)
    if spills or what["stack"]:
        faults.append(f"{spills} instructions and {what['stack']} bytes of local memory, expected none")
    if unknown := sum(op.startswith(("LD.", "ST.")) for op in code):
        faults.append(f"{unknown} loads and stores that do not know which memory they are for")
    if what["registers"] > most_registers:
        faults.append(f"{what['registers']} registers, expected at most {most_registers}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("objects", nargs="+", metavar="OBJECT")
    parser.add_argument("--toolkit", default=os.path.join(ROOT, "build", "cuda"))
    parser.add_argument("--table", action="store_true")
    flags = parser.parse_args()
    kernels = found(os.path.abspath(flags.toolkit), flags.objects)
    faults = []
    for architecture in ARCHITECTURES:
        unused = {pattern for pattern, _, _ in RULES}
        for (found_for, kernel), what in sorted(kernels.items()):
            if found_for != architecture:
                continue
            rule = next((rule for rule in RULES if re.fullmatch(rule[0], kernel)), None)
            if rule is None:
                faults.append(f"{architecture} {kernel}: no rule in tools/cuda_sass_lint.py")
                continue
            unused.discard(rule[0])
            faults += [f"{architecture} {kernel}: {fault}" for fault in faults_of(kernel, what, rule[1], rule[2])]
            if flags.table:
                tensor = sum(op.startswith("HMMA") for op in what["code"])
                wide = sum(bool(re.match(r"(LDG|STG|LDGSTS|LDS|STS|LDSM)\..*(128|88\.4)$", op)) for op in what["code"])
                print(f"{architecture} {kernel}: {what.get('registers')} registers, {len(what['code'])} instructions, "
                      f"{tensor} HMMA, {wide} of 16 bytes")
        faults += [f"{architecture}: no kernel {pattern}" for pattern in sorted(unused)]
    for fault in faults:
        print(fault)
    print(f"cuda_sass_lint: {len(kernels)} kernels, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
