#!/usr/bin/env python3
"""Breaks the model code around the kernels, one fault at a time, and demands that the engine's tests fail.

  tests/serve/engine/cuda/model_mutations.py [--build build/release] [--only WORD] [--jobs 1]

Needs a build that has serve_cuda_test. Compiles each mutated file by itself, as the build's compile_commands.json does, and
links it before the library that has the right one; the tree and the build are not touched. A mutation replaces a piece of text
that is there exactly once. First come the tests that are there to find it, then all. Ends with status 1 when a mutation survives,
no longer fits, or does not compile.
"""
import json
import os
import shlex
import subprocess
import tempfile
import threading

import mutations
from mutations import ROOT

ENGINE = "serve/engine/cuda"
PROGRAM = "bin/serve_cuda_test"
SECONDS = 300  # of the processor's time: a test that takes longer has no end

# File, the tests that should see it, and [what is broken, text, in its place].
MUTATIONS = {
    ("cuda_encoder.cc", "Tiny/CudaModels.*:CudaModel.*"): [
        ("keys and values change places", '{self + "query", self + "key", self + "value"}',
         '{self + "query", self + "value", self + "key"}'),
        ("the norm of the other half of the layer", 'name + "output.LayerNorm", upload, layer.down_norm',
         'name + "attention.output.LayerNorm", upload, layer.down_norm'),
        ("every token's type is the first", "layout.types(block).as<int32_t>()", "nullptr"),
        ("scores by the number of heads", "std::sqrt(static_cast<float>(args.head_size))",
         "std::sqrt(static_cast<float>(args.heads))"),
        ("no activation", "    then([&] { return Activate(stream, tokens); });\n", ""),
        ("one norm for both halves of a layer", "AddNorm(stream, tokens, layer.down_norm)",
         "AddNorm(stream, tokens, layer.mix_norm)"),
        ("attention's answer is not looked at", "Product(stream, tokens, mixed_, hidden,",
         "Product(stream, tokens, states_, hidden,"),
        ("every activation is GELU", "      return Curve::kGeluTanh;", "      return Curve::kGelu;"),
        ("no ReLU", "      return Curve::kRelu;", "      return Curve::kGelu;"),
    ],
    ("cuda_heads.cc", "Tiny/CudaModels.*"): [
        ("the first dense layer's input is its output", "    std::swap(in, out);\n", ""),
        ("the classifier without its hidden layer", "weights_.classifier[1], spare_, logits",
         "weights_.classifier[1], pooled_, logits"),
        ("every row's pooling is the model's", "task.pooling == Pooling::kModel ? config_.pooling : task.pooling",
         "config_.pooling"),
        ("rows for classification are pooled as the model's", "if (task.task == Task::kClassify) work.pool = RowWork::kCls;",
         "if (task.task == Task::kClassify) work.pool = RowWork::kMean;"),
        ("nothing is cut", "  work.dimensions = task.dimensions;\n", ""),
        ("nothing is scaled", "  work.scale_to_one = task.normalize == Normalize::kL2;\n", ""),
        ("vectors of tokens without ColBERT's layer", "    states = colbert_states_;\n", ""),
        ("token weights are not copied", "  return CopyOut(step, layout_.weights, tokens, 1);",
         "  return DeviceStatus::kOk;"),
    ],
    ("answers.cc", "ReadAnswers.*:Tiny/CudaModels.*"): [
        ("special tokens have weights", "ids[t] < kSpecialTokens || ", ""),
        ("weights below zero are handed on", "ids[t] < kSpecialTokens || weights[t] <= 0", "ids[t] < kSpecialTokens"),
        ("of equal ids the last", "    if (!(weight >= weights[t])) weight = weights[t];", "    weight = weights[t];"),
        ("every row is the first", "index * layout.embed_size, kept", "0 * index, kept"),
        ("logits of the first row", "index * layout.labels, layout.labels", "0 * index, layout.labels"),
        ("vectors of the batch's first tokens", "t * layout.token_size, kept", "(t - begin) * layout.token_size, kept"),
        ("logits lie on vectors", "place(logits, FloatBytes(rows, labels));", "logits = 0;"),
        ("weights of the batch's first tokens", "layout.weights, begin, tokens", "layout.weights, 0, tokens"),
    ],
    ("head_upload.cc", "Tiny/CudaModels.*:CudaModel.*"): [
        ("a head without a bias is taken", "bias == Bias::kPerhaps && ", ""),
        ("never tanh between dense layers", "if (layer.after == DenseLayer::After::kTanh) dense.after = DenseArgs::kTanh;",
         ""),
        ("no tanh in the classifier", "  to[0].after = DenseArgs::kTanh;\n", ""),
    ],
    ("weight_upload.cc", "WeightUploadTest.*:Tiny/CudaModels.*"): [
        ("the first tensor again", "weights.Find(name, shape)", "weights.Find(names[0], shape)"),
        ("all tensors in the first one's place", "    at += each;\n", ""),
        ("all pieces in the first one's place", "to.Part(at * out_width, size * out_width)",
         "to.Part(0, size * out_width)"),
        ("the first piece again and again", "tensor.bytes.subspan(at * width,", "tensor.bytes.subspan(0,"),
    ],
    ("staging.cc", "Staging.*:Tiny/CudaModels.*"): [
        ("rows that fill up begin at the first token", "static_cast<int32_t>(batch.num_tokens()));", "0);"),
        ("positions of the first row only", "positions.subspan(begin, size)", "positions.subspan(0, size)"),
        ("no types", "Fill(layout.types(block), batch.type_ids, 0);", "Fill(layout.types(block), {}, 0);"),
        ("rows as the batch before had them", "  std::fill_n(rows.data, rows.size, std::byte{0});\n", ""),
        ("columns lie on each other", "bytes_ = Aligned(bytes_ + bytes);", "bytes_ = Aligned(bytes_ + bytes / 2);"),
    ],
    ("warm_up.cc", "WarmUp.*:DefaultWarmUp.*:StartEngine.*"): [
        ("what was found is not looked at",
         "  if (auto status = CheckDifference(report.worst); !status.ok()) return status;\n", ""),
        ("sizes that are asked for are not run", "plan.sizes.empty() ? ", "true ? "),
        ("a size runs once", "kTimes = 3", "kTimes = 1"),
        ("sizes that no batch has", "size.tokens <= most)", "size.tokens <= most + 100000)"),
    ],
    ("comparison.cc", "DistanceOf.*:CheckDifference.*:CompareEngines.*"): [
        ("what is no number passes", "if (worst.distance <= kMostDistance) return", "if (!(worst.distance > kMostDistance)) return"),
        ("the best row for the worst", "distance <= worst.distance) continue;", "(worst.distance >= 0 && distance >= worst.distance)) continue;"),
        ("logits by their angle", "task.task == Task::kEmbed || task.task == Task::kEmbedAll;", "task.task != Task::kSparse;"),
        ("vectors of length 1 by their angle", "vectors && task.normalize == Normalize::kNone", "vectors"),
        ("no row is scaled to 1", "row % 2 == 0 ? Normalize::kNone : Normalize::kL2", "Normalize::kNone"),
        ("ids are places", "row.indices.empty() ? static_cast<int64_t>(i) : row.indices[i]", "static_cast<int64_t>(i)"),
        ("only the last task", "    if (!limits.tasks[i]) continue;\n", "    if (!limits.tasks[i] || i > 0) continue;\n"),
    ],
    ("devices_found.cc", "DevicesFound.*"): [
        ("one GPU too many", "ordinal >= found.devices", "ordinal > found.devices"),
        ("any driver", "found.driver / 1000 < found.runtime / 1000", "false"),
        ("any GPU", "found.architecture < kOldestArchitecture", "false"),
    ],
}


class Bench:
    def __init__(self, build, folder):
        self.build, self.folder, self.lock = build, folder, threading.Lock()
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            self.commands = {os.path.relpath(entry["file"], ROOT): entry for entry in json.load(file)}
        told = subprocess.run(["ninja", "-C", build, "-t", "commands", PROGRAM], capture_output=True, text=True, check=True)
        self.link = next(line for line in reversed(told.stdout.splitlines()) if f"-o {PROGRAM} " in line)

    def compiler(self, name):
        """What compiles this file, without what it is told to read and write."""
        command = shlex.split(self.commands[f"{ENGINE}/{name}"]["command"])
        for option in ("-c", "-o"):
            at = command.index(option)
            del command[at:at + 2]
        if os.path.basename(command[0]) == "ccache":
            del command[0]  # no mutation comes twice
        return [*command, "-O1", "-g0"]  # these files only say what is computed elsewhere

    def headers(self, name):
        """All that the file includes, compiled once for all of its mutations: that is most of what compiling it takes."""
        with self.lock:
            path = os.path.join(self.folder, f"{name}.h")
            if not os.path.exists(path):
                with open(os.path.join(ROOT, ENGINE, name), encoding="utf-8") as file, open(path, "w", encoding="utf-8") as to:
                    to.write("".join(line for line in file if line.startswith("#include")))
                mutations.call([*self.compiler(name), "-x", "c++-header", path, "-o", f"{path}.gch"], "headers do not compile",
                               cwd=self.build)
        return path

    def mutate(self, mutation):
        """None, or how the tests failed."""
        mutated = os.path.join(self.folder, f"{mutation.number}_{mutation.file}")
        with open(mutated, "w", encoding="utf-8") as file:
            file.write(mutation.broken(os.path.join(ROOT, ENGINE)))
        mutations.call([*self.compiler(mutation.file), "-include", self.headers(mutation.file), "-c", mutated, "-o", f"{mutated}.o"],
                       "does not compile", cwd=self.build)
        program = f"{mutated}.program"
        # Before the libraries, whose own object of this name is then not wanted.
        link = self.link.replace(f"-o {PROGRAM} ", f"{shlex.quote(mutated + '.o')} -o {shlex.quote(program)} ", 1)
        mutations.call(link, "does not link", shell=True, cwd=self.build)
        tests, = mutation.more
        how = mutations.failure(program, tests, SECONDS, self.build) or mutations.failure(program, f"-{tests}", SECONDS, self.build)
        os.remove(program)
        return how


def main():
    flags = mutations.flags(__doc__, ("--build", {"default": os.path.join(ROOT, "build", "release")}))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(flags.build), folder)
        mutations.try_all("model_mutations", mutations.chosen(MUTATIONS, flags.only), bench.mutate, flags.jobs)


if __name__ == "__main__":
    main()
