#!/usr/bin/env python3
"""Keeps the plan of the house: who may include whom, names, sizes, and READMEs that tell the truth.

  tools/check_layers.py [ROOT]

Prints one line a fault (file:line: what, and what is allowed) and ends with status 1 when there is any.
"""
import os
import re
import subprocess
import sys

# Room -> what its files may include, as prefixes of include paths. Standard and system headers are always allowed.
PUBLIC = ["trellis/encoding.h", "trellis/scratch.h", "trellis/spec.h", "trellis/tokenizer.h", "trellis/load.h", "trellis/trellis.h",
          "trellis/c_api.h", "trellis/code_point_offsets.h", "trellis/decode_stream.h", "trellis/growing_scratch.h", "trellis/padding.h", "trellis/sampling.h",
          "trellis/version.h"]
TEXT = ["trellis/internal/text/", "src/text/"]
TRIE = ["trellis/internal/trie/", "src/trie/"]
STAGE = ["trellis/internal/stage/", "src/stage/"]
FORMAT = ["src/format/", "simdjson", "google/protobuf/"]
# Columns and plain values: what a stage may know of the world outside.
VALUES = ["trellis/encoding.h", "trellis/scratch.h", "trellis/spec.h", "trellis/tokenizer.h"]
# The service: what engines are made of, and what only the faces of the servers may see.
ENGINE = ["serve/engine/", "absl/", "simdjson", "oneapi/"]
WIRE = ["serve/proto/", "trellis/v1/", "tei/v1/", "grpc", "google/protobuf/", "prometheus/"]
# A gateway hands the batching server's own requests on, which are plain values that engine.h names; no engine is in sight.
GATEWAY = ["serve/gateway/", "serve/model/", "serve/server/request.h", "serve/server/server.h", "serve/engine/engine.h", *PUBLIC,
           "trellis/internal/text/json_escape.h", "trellis/internal/text/utf8.h", "absl/"]
TESTING = ["gtest/", "gmock/", "absl/", "simdjson", "tests/reference/"]

ROOMS = [  # first match decides
    (r"include/trellis/internal/text/|src/text/", "text", TEXT),
    (r"include/trellis/internal/trie/|src/trie/", "trie", TRIE),
    (r"include/trellis/internal/stage/|src/stage/", "stage", TEXT + TRIE + STAGE + VALUES),
    (r"include/trellis/internal/[^/]*$", "internal", PUBLIC + TEXT + TRIE + STAGE + ["trellis/internal/", "absl/status/"]),
    (r"include/trellis/[^/]*$", "public", PUBLIC + ["absl/status/"]),
    (r"src/format/", "format", FORMAT + PUBLIC + TEXT + ["absl/"]),
    (r"src/load\.cc$", "load", FORMAT + PUBLIC + ["absl/"]),
    (r"src/c_api/", "C interface", PUBLIC + ["src/c_api/", "absl/status/"]),
    (r"src/[^/]*$", "tokenizer", PUBLIC + TEXT + TRIE + STAGE + ["trellis/internal/", r"src/", "absl/"]),
    (r"serve/engine/cuda/(kernels|emulation)/", "engine's kernels", ["serve/engine/cuda/", "cuda"]),
    (r"serve/engine/cuda/cuda_device", "engine's GPU", [*ENGINE, "cuda_runtime_api.h"]),
    (r"serve/engine/", "engine", ENGINE),
    (r"serve/model/", "model", ["serve/model/", "serve/engine/", *PUBLIC, "absl/", "simdjson"]),
    (r"serve/server/(grpc|metrics)_", "server's face", ["serve/server/", "serve/engine/engine.h", *WIRE, "absl/"]),
    (r"serve/server/", "server", ["serve/server/", "serve/engine/engine.h", "absl/"]),
    (r"serve/gateway/http_(?!message)", "gateway's HTTP face", [*GATEWAY, "boost/"]),
    (r"serve/gateway/grpc_", "gateway's gRPC face", [*GATEWAY, "serve/server/grpc_", *WIRE]),
    (r"serve/gateway/metrics_", "gateway's metrics", [*GATEWAY, "serve/server/observer.h", "prometheus/"]),
    (r"serve/gateway/", "gateway", [*GATEWAY, "simdjson", "openssl/"]),
    (r"serve/[^/]*$", "serve programs", ["serve/", "tools/completion/completion.h", *WIRE, "CLI/", "absl/"]),
    (r"tools/cli/engine/", "tools with an engine", [*PUBLIC, "tools/cli/", "serve/engine/", "serve/model/", "CLI/", "simdjson", "absl/"]),
    (r"tools/completion/", "completion", ["tools/completion/", "CLI/", "absl/"]),
    (r"tools/", "tools", PUBLIC + TEXT + ["trellis/internal/", "tools/", "CLI/", "simdjson", "absl/"]),
    (r"bench/serve/", "bench/serve", ["bench/serve/", "serve/server/", *ENGINE, *WIRE, "CLI/", "simdjson"]),
    (r"bench/", "bench", PUBLIC + TEXT + TRIE + STAGE + ["trellis/internal/", "src/", "bench/", "benchmark/", "CLI/", "simdjson", "absl/"]),
    (r"python/src/engine/", "Python's engine", [*PUBLIC, "python/src/", "tools/cli/text_encoder.h", "tools/cli/engine/engine_rows.h",
                                               "serve/engine/", "serve/model/", "absl/"]),
    (r"python/src/", "Python", [*PUBLIC, "python/src/", "trellis/internal/compiled.h", "trellis/internal/explain.h",
                                "trellis/internal/stage/truncation.h", "tools/cli/text_encoder.h", "tools/cli/template_layout.h", "absl/status/"]),
    (r"tests/text/", "tests/text", TESTING + TEXT + ["tests/text/"]),
    (r"tests/trie/", "tests/trie", TESTING + TRIE + ["tests/trie/"]),
    (r"tests/stage/", "tests/stage", TESTING + TEXT + TRIE + STAGE + VALUES + ["tests/stage/"]),
    (r"tests/format/", "tests/format", TESTING + FORMAT + PUBLIC + ["tests/format/"]),
    (r"tests/reference/", "tests/reference", TESTING + PUBLIC + TEXT + ["trellis/internal/compiled.h"]),
    (r"tests/fuzz/", "tests/fuzz", TESTING + PUBLIC + ["trellis/internal/", "src/", "tests/fuzz/", "serve/engine/safetensors_reader.h",
                                                         "serve/engine/synthetic/", "serve/gateway/"]),
    (r"tests/serve/model/", "tests/serve/model", [*TESTING, *PUBLIC, "serve/engine/", "serve/model/", "tests/serve/"]),
    (r"tests/serve/engine/", "tests/serve/engine", [*TESTING, *ENGINE, "tests/serve/"]),
    (r"tests/serve/gpu_check/", "tests/serve/gpu_check", [*TESTING, "serve/engine/", "bench/serve/", "tests/serve/"]),
    (r"tests/serve/server/", "tests/serve/server", [*TESTING, *ENGINE, "serve/server/", "tests/serve/"]),
    (r"tests/serve/gateway/", "tests/serve/gateway", [*TESTING, *PUBLIC, "serve/", *WIRE, "openssl/", "tests/serve/"]),
    (r"tests/serve/", "tests/serve", [*TESTING, "serve/", *WIRE, "tests/serve/"]),
    (r"tests/(\w+)/", "tests", TESTING + PUBLIC + TEXT + ["trellis/internal/", "tests/"]),
]
# Arrows that the prefixes above would allow and that are wrong all the same: (room, file, include, reason).
FORBIDDEN = [
    ("tokenizer", r".", r"src/format/", "only load.cc knows the file formats"),
    ("bench", r".", r"src/format/", "a bench uses public headers and the room it names"),
    ("server", r".", r"serve/server/(grpc|metrics)_", "the server's core has never heard of its face"),
    ("gateway", r".", r"serve/gateway/(http_(?!message)|grpc_|metrics_)", "the routes have never heard of their face"),
    ("public", r"^include/trellis/(encoding|scratch|spec|tokenizer)\.h$", r"trellis/load\.h|trellis/trellis\.h", "loading lies above"),
]
# Types that one stage hands to the next, and what stages look for in texts. All other stage headers are strangers to each other.
STAGE_VALUES = {"token_sink.h", "token_list.h", "normalized_text.h", "pre_token.h", "pattern.h"}
# Stages that are spread over several files.
STAGE_PARTS = [{"unigram", "symbol_lattice", "float_symbol_lattice", "word_table", "word_table_builder", "word_cache",
                "byte_fallback"}, {"pattern", "pattern_syntax", "code_point_set"}, {"decoder", "decoder_chain", "clean_up"}]
# Third-party headers by the file that may have them, whatever its room.
ONLY_IN = {"re2/": r"/stage/[^/]*pattern[^/]*$"}

THIRD_PARTY = ("absl/", "boost/", "openssl/", "simdjson", "google/", "utf8proc", "CLI/", "gtest/", "gmock/", "benchmark/", "re2/", "grpc", "nlohmann/", "cuda", "prometheus/")

BANNED = {"util", "utils", "common", "helper", "helpers", "misc", "manager", "handler", "context", "info", "data", "process"}
# `trellis info` is the name of a command.
NAME_EXCEPTIONS = {"info_command.cc", "info_command.h", "InfoCommand", "InfoFlags", "InfoOptions", "ExplainAndInfo"}

SOURCE = (".h", ".cc", ".cu", ".cuh", ".proto", ".py", ".cmake", ".md", ".sh")
MAX_LINES = 600
MACHINE_PATH = re.compile(r"(?<![\w.$}*/])/(?:work|root|tmp|home|Users)/")
README_FILE = re.compile(r"\.(?:h|cc|cu|py|cmake|md|proto|svg|jsonl|sh)$")


def listed(root):
    """Tracked files and those that a commit would add, relative to root."""
    done = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True)
    if done.returncode == 0:
        return sorted(f for f in done.stdout.decode().split("\0") if f and os.path.isfile(os.path.join(root, f)))
    files = []  # an unpacked archive
    for folder, names, leaves in os.walk(root):
        names[:] = [n for n in names if n not in (".git", "build", "models", ".venv", "__pycache__", "target")]
        files += [os.path.relpath(os.path.join(folder, leaf), root) for leaf in leaves]
    return sorted(files)


class House:
    def __init__(self, root):
        self.root, self.faults = root, []
        self.files = listed(root)
        self.folders = set()
        for file in self.files:
            while file := os.path.dirname(file):
                self.folders.add(file)

    def fault(self, file, line, text):
        self.faults.append(f"{file}:{line}: {text}" if line else f"{file}: {text}")

    def lines(self, file):
        with open(os.path.join(self.root, file), encoding="utf-8", errors="replace", newline="\n") as f:
            return f.read().split("\n")

    # --- arrows ---

    def check_includes(self):
        for file in self.files:
            if not file.endswith((".h", ".cc", ".cu", ".cuh")) or file.startswith(("third_party/", "bench/peers/")):
                continue  # a peer is a program of its own, built apart from ours
            room, allowed = next(((name, allow) for pattern, name, allow in ROOMS if re.match(pattern, file)), (None, None))
            if room is None:
                self.fault(file, 0, "lies in no room that tools/check_layers.py knows; add it to ROOMS and to the plan")
                continue
            for number, line in enumerate(self.lines(file), 1):
                if match := re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line):
                    self.check_include(file, number, room, allowed, match[1] == '"', match[2])

    def check_include(self, file, number, room, allowed, quoted, target):
        for prefix, pattern in ONLY_IN.items():
            if target.startswith(prefix) and not file.startswith("tests/"):
                if not re.search(pattern, "/" + file):
                    self.fault(file, number, f"includes {target}, which only files matching {pattern} may")
                return
        ours = quoted and not target.startswith(THIRD_PARTY)
        if ours and "/" not in target:
            self.fault(file, number, f'includes "{target}": write the path from the root or from include/')
        elif ours or target.startswith(THIRD_PARTY):
            if not target.startswith(tuple(allowed)):
                self.fault(file, number, f"room {room} may not include {target} (allowed: {' '.join(allowed)})")
        for in_room, files, includes, reason in FORBIDDEN:
            if in_room == room and re.search(files, file) and re.match(includes, target):
                self.fault(file, number, f"includes {target}: {reason}")
        if room == "stage" and target.startswith("trellis/internal/stage/"):
            stem = os.path.splitext(os.path.basename(file))[0]
            name = os.path.basename(target)
            other = os.path.splitext(name)[0]
            if name not in STAGE_VALUES and other != stem and not any({stem, other} <= parts for parts in STAGE_PARTS):
                self.fault(file, number, f"a stage holds no other stage ({target}); what both need belongs into text or trie, "
                                         f"or is a value of its own ({', '.join(sorted(STAGE_VALUES))})")
        if file.startswith("include/") and target.startswith(("src/", "tools/", "tests/", "bench/")):
            self.fault(file, number, f"a header under include/ may not include {target}: it must be usable when installed")

    # --- names and sizes ---

    def check_names(self):
        declaration = re.compile(r"^\s*(?:template\s*<[^;{]*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+(?:\w+\(\w*\)\s+)?(\w+)\b(?!\s*[;*&>])")
        for file in self.files:
            if file.startswith("third_party/"):
                continue
            name = os.path.basename(file)
            words = set(re.split(r"[^a-z0-9]+", file.lower())) if name not in NAME_EXCEPTIONS else set()
            for word in sorted(words & BANNED):
                self.fault(file, 0, f"{word!r} in a file name says nothing; name what it holds")
            if not file.endswith((".h", ".cc", ".cu", ".py")):
                continue
            for number, line in enumerate(self.lines(file), 1):
                match = declaration.match(line)
                if match and match[1] not in NAME_EXCEPTIONS:
                    words = {w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", match[1])}
                    for word in sorted(words & BANNED):
                        self.fault(file, number, f"{word!r} in the name {match[1]} says nothing; name what it is")

    def check_sizes(self):
        for file in self.files:
            if file.startswith("third_party/") or not (file.endswith(SOURCE) or "." not in os.path.basename(file)):
                continue
            lines = self.lines(file)
            if len(lines) > MAX_LINES and file != "LICENSE" and not re.search("generated", "\n".join(lines[:6]), re.I):
                self.fault(file, 0, f"{len(lines)} lines, more than {MAX_LINES}: split it at an idea")

    # --- texts ---

    def check_machine_paths(self):
        for file in self.files:
            if file.startswith(("third_party/", "tests/golden/")) and not file.endswith((".h", ".cc", ".py", ".md", ".txt")):
                continue
            for number, line in enumerate(self.lines(file), 1):
                if match := MACHINE_PATH.search(line):
                    self.fault(file, number, f"{match[0]}: a path of some machine; write a path from the root, or make a temporary folder")

    def check_readmes(self):
        names = {os.path.basename(f) for f in self.files}
        tops = {f.split("/")[0] for f in self.files if "/" in f}
        for file in self.files:
            if not file.endswith(".md") or file.startswith("third_party/") and os.path.basename(file) != "README.md":
                continue
            fenced = False
            for number, line in enumerate(self.lines(file), 1):
                fenced ^= line.lstrip().startswith("```")
                for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
                    if "://" not in link and not link.startswith("mailto:"):
                        self.check_named(file, number, link, [os.path.dirname(file)], names)
                if fenced:
                    continue
                for code in re.findall(r"`([^`]+)`", line):
                    word = code.split()[0] if code.split() else ""
                    if not re.fullmatch(r"[\w.\-/]+", word) or re.search(r"(?<![A-Za-z])[A-Z]{3,}(?=[_/\-]|\.(?!md\b)|$)", word):
                        continue  # an option, code, or a path with a place for a name
                    if "/" in word and word.split("/")[0] in tops or README_FILE.search(word):
                        self.check_named(file, number, word, ["", os.path.dirname(file)], names)

    def check_named(self, file, number, path, bases, names):
        for base in bases:
            full = os.path.normpath(os.path.join(base, path))
            if full in self.files or full in self.folders or full in (".", ""):
                return
        if "/" not in path and path in names:
            return
        if any(f.endswith("/" + path) for f in self.files):
            return
        self.fault(file, number, f"names {path}, which does not exist")


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    house = House(root)
    house.check_includes()
    house.check_names()
    house.check_sizes()
    house.check_machine_paths()
    house.check_readmes()
    for fault in house.faults:
        print(fault)
    print(f"check_layers: {len(house.files)} files, {len(house.faults)} faults")
    if not house.files:
        sys.exit(f"check_layers: no file found under {root}")
    sys.exit(1 if house.faults else 0)


if __name__ == "__main__":
    main()
