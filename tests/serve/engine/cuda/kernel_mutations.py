#!/usr/bin/env python3
"""Breaks the kernels, one fault at a time, and demands that their tests fail.

  tests/serve/engine/cuda/kernel_mutations.py [--only WORD] [--cxx c++] [--jobs 1]

Compiles the emulated kernels and their tests by itself, in a folder of its own; the tree is not touched. A mutation replaces a
piece of text that is there exactly once. Ends with status 1 when a mutation survives, no longer fits, or does not compile.
"""
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile

import mutations
from mutations import ROOT

KERNELS = "serve/engine/cuda/kernels"
EMULATION = "serve/engine/cuda/emulation"
TESTS = "tests/serve/engine/cuda/kernels"
FLAGS = ["-std=c++20", "-O1", "-I."]
SECONDS = 120  # of the processor's time: a test that takes longer has no end

# What is compiled together: kernels, and their tests. Small, since each mutation links one anew.
PROGRAMS = {
    "attention": ["attention_mma.inl", "attention_reference.inl", "attention_backends.cc", "attention_test.cc"],
    "heads": ["dense.inl", "finish_rows.inl", "dense_test.cc", "finish_rows_test.cc"],
    **{kernel: [f"{kernel}.inl", f"{kernel}_test.cc"]
       for kernel in ("activate", "add_norm", "convert", "embed", "pool", "token_vectors", "token_weights")},
}

# File, program, its tests, and [what is broken, text, in its place].
MUTATIONS = {
    ("attention_mma.inl", "attention", "*CudaAttention.*mma*"): [
        ("no barrier after the copies", "    Barrier();  // what came is seen by all, and all are done with the other buffer\n", ""),
        ("no barrier before the keys' place is used again", "  Barrier();\n  queries.Finish", "  queries.Finish"),
        ("no barrier of the warp before its queries are read", "    WarpBarrier();\n", ""),
        ("copies are not waited for", "    WaitForCopies<0>();\n", ""),
        ("the next copies are not committed", "values + (buffer ^ 1) * kBuffer);\n      CommitCopies();", "values + (buffer ^ 1) * kBuffer);"),
        ("the mask begins one key late", "i % 2 >= keys_left", "i % 2 > keys_left"),
        ("the mask begins one key early", "i % 2 >= keys_left", "i % 2 + 1 >= keys_left"),
        ("a tile that lacks one key is not masked", "if (keys_left >= kKeys) continue;", "if (keys_left >= kKeys - 1) continue;"),
        ("the largest score of another query's lanes", "top = fmaxf(top, ShuffleXor(top, 1));", "top = fmaxf(top, ShuffleXor(top, 4));"),
        ("the largest score of half of the lanes", "      top = fmaxf(top, ShuffleXor(top, 2));\n", ""),
        ("the weights of other lanes", "weights[r] += ShuffleXor(weights[r], 2);", "weights[r] += ShuffleXor(weights[r], 1);"),
        ("sums are not scaled down", "        sums[n][2 * r] *= shrink;\n", ""),
        ("the weights' sum is not scaled down", "      weights[r] *= shrink;\n", ""),
        ("the largest score is not kept", "      most[r] = top;\n", ""),
        ("rows of the weights change places", "NarrowPair<kType>(left[2], left[3]),", "NarrowPair<kType>(left[3], left[2]),"),
        ("halves of the weights change places", "{NarrowPair<kType>(left[0], left[1]), NarrowPair<kType>(left[2], left[3])", "{NarrowPair<kType>(left[2], left[3]), NarrowPair<kType>(left[0], left[1])"),
        ("rows of the queries change places", "group + i % 2 * 8, column = k * 16 + 2 * pair + i / 2 * 8", "group + i / 2 * 8, column = k * 16 + 2 * pair + i % 2 * 8"),
        ("matrices of the values change places", "(k * 16 + Lane() % 16) * kStride + n * 16 + Lane() / 16 * 8", "(k * 16 + Lane() / 16 * 8 + Lane() % 8) * kStride + n * 16 + Lane() / 8 % 2 * 8"),
        ("the values are not transposed", "LoadMatrices<true>", "LoadMatrices<false>"),
        ("the same columns of the keys four times", "k * 32 + Lane() / 8 * 8", "k * 32"),
        ("the first words of the keys twice", "queries[2 * k + 1], words[2], words[3]", "queries[2 * k + 1], words[0], words[1]"),
        ("values of the row's end are written past it", "      if (first + row >= tile.length) continue;\n", ""),
        ("one key more than the row has", "first + row < tile.length;", "first + row <= tile.length;"),
        ("queries of the row's first tile", "first = tile.first + Warp() * kWarpQueries;\n    SIMT_UNROLL\n    for (int k", "first = Warp() * kWarpQueries;\n    SIMT_UNROLL\n    for (int k"),
        ("the buffers do not take turns", "    buffer ^= 1;\n", ""),
        ("a copy that nobody waits for", "if (first + kKeys < tile.length)", "if (first + kKeys <= tile.length)"),
        ("one warp leaves early", "  if (tile.length == 0) return;", "  if (tile.length == 0 || (tile.length < 4 && Warp() == 3)) return;"),
        ("powers of two for powers of e", "args.scale * kLog2OfE", "args.scale"),
        ("weights that are not divided by their sum", "1.0f / weights[r]", "1.0f"),
        ("keys in the place of values", "Fetch(tile, tile.values, first + kKeys", "Fetch(tile, tile.keys, first + kKeys"),
    ],
    ("attention_tile.h", "attention", "*CudaAttention.*"): [
        ("the distance of tokens without the values", "3 * tile.out_stride", "2 * tile.out_stride"),
        ("every head is the first", "static_cast<size_t>(BlockY()) * size;", "0 * size;"),
        ("keys are queries", "tile.keys = tile.queries + tile.out_stride", "tile.keys = tile.queries"),
        ("the row before", "tile.length = place.first < length ? length : 0;", "tile.length = place.first < length ? length - 1 : 0;"),
    ],
    ("attention_reference.inl", "attention", "*CudaAttention.*reference*"): [
        ("no barrier before the weights are read", "    weights[Lane()] = weight;\n    WarpBarrier();\n", "    weights[Lane()] = weight;\n"),
        # Not the barrier before the next weights: WarpMax keeps the lanes together, and memory has one order here.
        ("one key more than the row has", "if (key < tile.length)", "if (key <= tile.length)"),
        ("values past the row's end", "tile.length - first < kWarp ? tile.length - first : kWarp", "kWarp"),
        ("sums are not scaled down", "      sums[p] *= shrink;\n", ""),
        ("the weights' sum is not scaled down", "weight_sum * shrink +", "weight_sum +"),
        ("the largest score of one lane", "WarpMax(fmaxf(most, score))", "fmaxf(most, score)"),
        ("the sum of one lane", "WarpSum(weight)", "weight"),
        ("one column more than the head has", "    if (column >= size) break;\n    tile.out", "    if (column > size) break;\n    tile.out"),
    ],
    ("add_norm.inl", "add_norm", "*CudaAddNorm*"): [
        ("one column more than the row has", "if (column >= args.hidden) continue;", "if (column > args.hidden) continue;"),
        ("tokens past the end", "  if (token >= args.tokens) return;\n", ""),
        ("no residual", "values[v][i] += branch[i];", "values[v][i] = branch[i];"),
    ],
    ("layer_norm.h", "add_norm", "*CudaAddNorm*"): [
        ("places past the row's end count in the variance", "    if (ColumnOf<kWidth>(v) >= hidden) continue;\n", ""),
        ("no epsilon", "static_cast<float>(hidden) + epsilon", "static_cast<float>(hidden)"),
        ("the mean of one lane", "WarpSum(sum) /", "sum /"),
        ("the variance without the mean", "values[v][i] - mean;", "values[v][i];"),
        ("no beta", " + shifts[i]", ""),
    ],
    ("embed.inl", "embed", "*CudaEmbed*"): [
        ("every type is the first", "args.type_ids == nullptr ? 0 : args.type_ids[token]", "0"),
        ("positions are words", "args.position_ids[token]", "args.ids[token] % 7"),
        ("no types", "type_values[i] + position_values[i]", "position_values[i]"),
        ("tokens past the end", "  if (token >= args.tokens) return;\n", ""),
    ],
    ("activate.inl", "activate", "*CudaActivate*"): [
        ("a vector past the end", "at + kVectorWidth <= args.count", "at + kVectorWidth <= args.count + 1"),
        ("the last value is left out", "i < args.count; ++i", "i + 1 < args.count; ++i"),
        ("the form by tanh for the exact one", "kCurve == Curve::kGelu)", "kCurve == Curve::kRelu)"),
        ("ReLU hides what is not a number", "x < 0 ? 0.0f : x", "fmaxf(x, 0.0f)"),
    ],
    ("convert.inl", "convert", "*CudaConvert*"): [
        ("the last of the narrow ones is left out", "i < args.count; ++i) args.to[i] = Narrow", "i + 1 < args.count; ++i) args.to[i] = Narrow"),
        ("the last of the wide ones is left out", "i < args.count; ++i) args.to[i] = Wide", "i + 1 < args.count; ++i) args.to[i] = Wide"),
    ],
    ("pool.inl", "pool", "*CudaPool*"): [
        ("no barrier before the warps' sums are read", "  Barrier();\n", ""),
        ("the mean of one token more", "1.0f / static_cast<float>(end - begin)", "1.0f / static_cast<float>(end - begin + 1)"),
        ("the last but one", "begin = end - 1", "begin = end - 2"),
        ("the first two", "end = begin + 1", "end = begin + 2"),
        ("warps take each other's tokens", "token += kPoolWarps", "token += kPoolWarps - 1"),
        ("rows that want nothing get a mean", "  if (work.pool == RowWork::kNothing) end = begin;\n", ""),
        ("an empty row gets its neighbour's last", "work.pool == RowWork::kLast && end > begin", "work.pool == RowWork::kLast"),
        ("columns past the row's end", " && first_column + c < args.hidden", ""),
        ("one warp's sum is left out", "warp < kPoolWarps; ++warp", "warp < kPoolWarps - 1; ++warp"),
    ],
    ("dense.inl", "heads", "*CudaDense*"): [
        ("outputs past the end", "  if (output >= args.out_size) return;\n", ""),
        ("rows past the end", "if (r >= count || Lane() != 0) continue;", "if (Lane() != 0) continue;"),
        ("no bias", "WarpSum(sums[r]) + bias", "WarpSum(sums[r])"),
        ("the sum of one lane", "WarpSum(sums[r])", "sums[r]"),
        ("always tanh", "args.after == DenseArgs::kTanh ?", "true ?"),
    ],
    ("finish_rows.inl", "heads", "*CudaFinishRows*"): [
        ("the model's own scale is left out", "if (args.model_scales)", "if (false)"),
        ("what was cut off is not zero", "i < kept ? vector[i] * scale : 0.0f", "vector[i] * scale"),
        ("the length of the whole for the cut", "ScaleOfFirst(vector, kept)", "ScaleOfFirst(vector, args.size)"),
        ("always scaled", "work.scale_to_one != 0 ?", "true ?"),
        ("squares in float", "double squares = 0;", "float squares = 0;"),
        ("rows past the end", "  if (row >= args.rows) return;\n", ""),
    ],
    ("warp.h", "heads", "*CudaFinishRows*:*CudaDense*"): [
        ("a vector without length becomes one of no numbers", "squares == 0 ? 1.0f : ", ""),
        ("sums of half of the lanes", "for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += ", "for (int lanes = kWarp / 4; lanes > 0; lanes /= 2) value += "),
    ],
    ("token_vectors.inl", "token_vectors", "*CudaTokenVectors*"): [
        ("rows that did not ask", "  if (work.every_token == 0) return;\n", ""),
        ("tokens past the row's end", "begin + kTileQueries < row_end ? begin + kTileQueries : row_end", "begin + kTileQueries"),
        ("blocks of a tile take the same tokens", "begin + BlockY() * kVectorWarps + Warp()", "begin + Warp()"),
        ("what was cut off counts in the length", "if (column + i < kept) squares", "squares"),
        ("what was cut off is not zero", "column + i < kept ? values[i] * scale : 0.0f", "values[i] * scale"),
        ("tokens of the row's first tile", "args.cu_seqlens[tile.row] + tile.first;", "args.cu_seqlens[tile.row];"),
    ],
    ("token_weights.inl", "token_weights", "*CudaTokenWeights*"): [
        ("no bias", " + args.bias[0]", ""),
        ("tokens past the end", "  if (token >= args.tokens) return;\n", ""),
        ("the sum of one lane", "WarpSum(sum)", "sum"),
    ],
}


class Bench:
    def __init__(self, folder, compiler):
        self.folder, self.compiler = folder, compiler
        for part in (KERNELS, EMULATION, TESTS):
            shutil.copytree(os.path.join(ROOT, part), os.path.join(folder, part))
        above = os.path.dirname(KERNELS)
        for name in os.listdir(os.path.join(ROOT, above)):
            if name.endswith(".h"):
                shutil.copy(os.path.join(ROOT, above, name), os.path.join(folder, above, name))
        # Not where quoted includes would find the kernels before a mutation's are looked for.
        os.makedirs(os.path.join(folder, "units"))
        for name in os.listdir(os.path.join(folder, KERNELS)):
            if name.endswith(".inl"):
                with open(os.path.join(folder, f"units/{name}.cc"), "w", encoding="utf-8") as file:
                    file.write(f'#include "{KERNELS}/{name}"\n')

    @staticmethod
    def sources_of(program):
        """{source: object} of a program."""
        sources = [f"{EMULATION}/{name}" for name in ("block.cc", "fiber.cc", "grid.cc")]
        for name in PROGRAMS[program]:
            if name.endswith(".inl"):
                sources.append(f"units/{name}.cc")
            else:
                sources.append(f"{TESTS if name.endswith('_test.cc') else KERNELS}/{name}")
        return {source: Bench.object_of(source) for source in sources}

    @staticmethod
    def object_of(source):
        return source.replace("/", "_") + ".o"

    def compile(self, source, target, mutated=None):
        # What is mutated lies in a folder that is looked into first.
        first = [f"-I{mutated}"] if mutated else []
        mutations.call([*self.compiler, *first, *FLAGS, "-c", source, "-o", target], f"{source} does not compile", cwd=self.folder)

    def link(self, objects, program):
        mutations.call([self.compiler[-1], *objects, "-o", program, "-lgtest", "-lgtest_main", "-pthread"], f"{program} does not link",
                       cwd=self.folder)

    def test(self, program, tests):
        """None, or how the tests failed."""
        return mutations.failure(os.path.join(self.folder, program), tests, SECONDS, self.folder)

    def includes(self, kernel, header):
        """Whether a kernel sees a header, by whatever way."""
        seen, left = set(), [kernel]
        while left:
            name = left.pop()
            with open(os.path.join(self.folder, KERNELS, name), encoding="utf-8") as file:
                found = re.findall(rf'#include "{KERNELS}/([^"]+)"', file.read())
            left += [f for f in found if f not in seen]
            seen |= set(found)
        return header in seen

    def mutate(self, mutation):
        program, tests = mutation.more
        mutated = f"mutation{mutation.number}"
        os.makedirs(os.path.join(self.folder, mutated, KERNELS))
        with open(os.path.join(self.folder, mutated, KERNELS, mutation.file), "w", encoding="utf-8") as file:
            file.write(mutation.broken(os.path.join(self.folder, KERNELS)))
        objects = self.sources_of(program)
        for source in objects:
            kernel = os.path.basename(source)[: -len(".cc")]
            if source.startswith("units/") and (kernel == mutation.file or self.includes(kernel, mutation.file)):
                objects[source] = f"{mutated}/{kernel}.o"
                self.compile(source, objects[source], mutated)
        broken = f"{mutated}/test"
        self.link(objects.values(), broken)
        how = self.test(broken, tests)
        shutil.rmtree(os.path.join(self.folder, mutated))
        return how


def main():
    flags = mutations.flags(__doc__, ("--cxx", {"default": "c++", "help": "the compiler; ccache is used where it is"}))
    launcher = ["ccache"] if shutil.which("ccache") else []
    wanted = mutations.chosen(MUTATIONS, flags.only)
    programs = sorted({mutation.more[0] for mutation in wanted})
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, [*launcher, flags.cxx])
        objects = {}
        for program in programs:
            objects.update(bench.sources_of(program))
        with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
            list(pool.map(bench.compile, objects.keys(), objects.values()))
        for program in programs:
            bench.link(bench.sources_of(program).values(), program)
            if how := bench.test(program, "*"):
                sys.exit(f"kernel_mutations: the tests of {program} fail without a mutation: {how}")
        mutations.try_all("kernel_mutations", wanted, bench.mutate, flags.jobs)


if __name__ == "__main__":
    main()
