#!/usr/bin/env python3
"""Builds the peers in one folder and describes how each is run. Python 3.9 or newer, nothing else.

  bench/peers/build_peers.py [--build-dir build/peers]

Needs cargo, cmake, ninja, a C++20 compiler, simdjson, flatc with the FlatBuffers headers, and the usual package
registries (crates.io, PyPI). What is already built is left alone.
"""

import argparse
import dataclasses
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = {
    "0.2.1": "8138cec27c2f2282f4a34d9a016e3374cd40e5c6e9cb335063db66a0a3b71fad",
    "0.2.3": "21618ad31f0453a1ebf5ec58defed99758d54af0b670546ecac639ddd8b86fbd",
}


@dataclasses.dataclass
class Peer:
    name: str
    version: str
    entry: str  # what is called
    command: list  # without model, texts and mode
    model: pathlib.Path
    fairseq_shift: bool = False  # prints SentencePiece's ids for a model whose JSON shifts them by one
    options: list = dataclasses.field(default_factory=list)  # after the texts

    def arguments(self, texts, mode):
        return [*map(str, self.command), str(self.model), str(texts), "--mode", mode, *self.options]


def run(*command, **keywords):
    print("+", " ".join(map(str, command)), file=sys.stderr)
    subprocess.run(list(map(str, command)), check=True, stdout=sys.stderr, **keywords)


def python(build):
    """The interpreter of a virtual environment that holds the wheels of python/requirements.txt."""
    interpreter = build / "venv" / "bin" / "python"
    wanted = HERE / "python" / "requirements.txt"
    stamp = build / "venv" / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        run(sys.executable, "-m", "venv", build / "venv")
        run(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted)
        stamp.write_text(wanted.read_text())
    return interpreter


def sentencepiece_source(build, version):
    """The unpacked source distribution; its bytes are checked."""
    folder = build / "sources" / f"sentencepiece-{version}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        run(python(build), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
            "--no-binary", ":all:", "--dest", folder.parent, f"sentencepiece=={version}")
        archive = folder.parent / f"sentencepiece-{version}.tar.gz"
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != SOURCES[version]:
            sys.exit(f"{archive}: SHA-256 {found}, expected {SOURCES[version]}")
        with tarfile.open(archive) as tar:
            tar.extractall(folder.parent)
    return folder / "sentencepiece"


def hugging_face(build, version):
    target = build / f"hf_{version}"
    run("cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", HERE / "hf" / version / "Cargo.toml",
        env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    return target / "release" / f"peer_hf_{version[1:]}"


def sentencepiece(build):
    folder = build / "sentencepiece"
    if not (folder / "build.ninja").exists():
        run("cmake", "--log-level=ERROR", "-S", HERE / "sentencepiece", "-B", folder, "-G", "Ninja",
            f"-DPROCESSOR_SOURCE={sentencepiece_source(build, '0.2.1')}",
            f"-DLITE_SOURCE={sentencepiece_source(build, '0.2.3')}")
    run("cmake", "--build", folder, "--", "--quiet")
    return folder


def flat_model(build, model):
    """The .spm.fb form of a .model, named after the bytes it was made of."""
    name = hashlib.sha256(model.read_bytes()).hexdigest()[:16]
    flat = build / "models" / f"{name}.spm.fb"
    if not flat.exists():
        flat.parent.mkdir(parents=True, exist_ok=True)
        run(python(build), "-c", "import sentencepiece, sys\n"
            "sentencepiece.convert_to_flatbuffer(model_file=sys.argv[1], output_file=sys.argv[2])", model, flat)
    return flat


def build_peers(build, model):
    """The peers, the reference first. `model` is a folder with tokenizer.json and sentencepiece.bpe.model."""
    build.mkdir(parents=True, exist_ok=True)
    json_model, proto = model / "tokenizer.json", model / "sentencepiece.bpe.model"
    wheels = [python(build), HERE / "python" / "wheel_peer.py"]
    cpp = sentencepiece(build)
    flat = flat_model(build, proto)
    lite = [cpp / "sentencepiece_lite_peer"]
    return [
        Peer("hf-0.22", "tokenizers 0.22.2", "encode_fast", [hugging_face(build, "v0_22")], json_model),
        Peer("hf-1.0", "tokenizers 1.0.0-rc.3", "encode_into", [hugging_face(build, "v1_0")], json_model),
        Peer("sp", "SentencePiece 0.2.1, C++", "Encode", [cpp / "sentencepiece_peer"], proto, True),
        Peer("sp-wheel", "SentencePiece 0.2.3, wheel", "encode to numpy", [*wheels, "sentencepiece"], proto, True),
        Peer("sp-lite", "SentencePiece Lite of 0.2.3", "Encode", lite, flat, True),
        Peer("sp-lite-cached", "SentencePiece Lite of 0.2.3", "CachedSentencePieceLite::Encode", lite, flat, True,
             ["--variant", "cached"]),
        Peer("iree", "iree-tokenizer 0.3.0, wheel", "encode_to_array", [*wheels, "iree"], json_model),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=pathlib.Path, default=pathlib.Path("build/peers"))
    parser.add_argument("--model", type=pathlib.Path, default=pathlib.Path("models/multilingual-e5-small"))
    options = parser.parse_args()
    for peer in build_peers(options.build_dir.resolve(), options.model.resolve()):
        print(f"{peer.name:16}{peer.version:32}{peer.entry:34}{pathlib.Path(peer.command[0]).name}")


if __name__ == "__main__":
    main()
