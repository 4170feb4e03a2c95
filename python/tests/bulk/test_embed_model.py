"""Vectors beside those of sentence-transformers (tests/serve/models): computed in this process, and by trellis-gateway itself,
also while that is killed."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import pytest

pa = pytest.importorskip("pyarrow")

import numpy as np

import trellis
from trellis import bulk
from reference_cases import ROOT
from written import rows_of, write_lines

FOLDER = ROOT / "tests" / "serve" / "models" / "tiny-bert"
ALL = json.loads((FOLDER / "reference.json").read_text())["texts"]
# A gateway takes no empty text.
REFERENCE = [row for row in ALL if row["text"] and "prompt_name" not in row]
PROMPTED = [row for row in ALL if row.get("prompt_name") == "query"]
PROGRAM = pathlib.Path(os.environ.get("TRELLIS_GATEWAY") or ROOT / "build" / "release" / "bin" / "trellis-gateway")
TOLERANCE = 1e-5  # README.md, f32


def assert_near(vectors, rows):
    assert np.abs(np.array(vectors) - np.array([row["embedding"] for row in rows])).max() < TOLERANCE


@contextlib.contextmanager
def gateway(port=0):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM}: no program, expected trellis-gateway, or that TRELLIS_GATEWAY names it")
    process = subprocess.Popen([PROGRAM, "--model", FOLDER, "--dtype", "f32", "--threads", "1", "--port", str(port),
                                "--access-log", "false"], stderr=subprocess.PIPE, text=True)
    try:
        url = None
        for line in process.stderr:
            if "listening on" in line:
                url = "http://" + line.rsplit(" ", 1)[1].strip()
            if "ready on" in line:
                break
        assert url is not None, "the gateway did not start"
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield process, url
    finally:
        process.kill()
        process.wait()


def test_in_this_process(tmp_path):
    try:
        trellis.Embedder
    except (AttributeError, ImportError) as error:
        pytest.skip(str(error))
    table = pa.table({"text": [row["text"] for row in REFERENCE] + [None]})
    embedded = bulk.Embed(FOLDER, dtype="f32")(table)
    assert embedded["vector"].to_pylist()[-1] is None and embedded["error"].to_pylist()[-1] == "no text"
    assert_near(embedded["vector"].to_pylist()[:-1], REFERENCE)
    write_lines(tmp_path / "a.jsonl", [{"text": row["text"]} for row in REFERENCE])
    report = bulk.embed(tmp_path / "a.jsonl", tmp_path / "out", model=FOLDER, dtype="f32", part_bytes=10, show_progress=False)
    assert_near([row["vector"] for row in rows_of(tmp_path / "out")], REFERENCE)
    assert report.parts > 1 and report.tokens is None
    with pytest.raises(ValueError, match='options.dtype was "f32", is "bf16"'):
        bulk.embed(tmp_path / "a.jsonl", tmp_path / "out", model=FOLDER, dtype="bf16", part_bytes=10, show_progress=False)
    with pytest.raises(ValueError, match="prompt_name"):
        bulk.Embed(FOLDER, prompt_name="nowhere")


def test_a_row_that_the_embedder_refuses(monkeypatch):
    """Another Embedder, since no text of a sound model has a fault."""
    class Embedder:
        def __init__(self, folder, *, dtype, threads):
            assert (folder, dtype, threads) == ("folder", "bf16", 3)

        def encode(self, texts, *, prompt, prompt_name, normalize_embeddings, truncate_dim):
            assert (prompt, prompt_name, normalize_embeddings, truncate_dim) == (None, "query", True, 2)
            if "bad" in texts:
                raise ValueError("values that are not finite")
            return np.array([[len(text), 1] for text in texts], np.float32)

    monkeypatch.setattr(trellis, "Embedder", Embedder, raising=False)
    embed = bulk.Embed("folder", dtype="bf16", threads=3, prompt_name="query", normalize=True, dimensions=2)
    texts = ["x" * i for i in range(1, 600)]
    texts[300] = "bad"
    table = embed(pa.table({"text": pa.chunked_array([texts[:301], texts[301:]])}))
    want = [[len(text), 1] if text != "bad" else None for text in texts]
    assert table["vector"].to_pylist() == want
    assert [said for said in table["error"].to_pylist() if said] == ["values that are not finite"]


def test_by_the_gateway():
    with gateway() as (_, url):
        embedded = bulk.Embed(gateway=url)(pa.table({"text": [row["text"] for row in REFERENCE] + ["", None]}))
        assert_near(embedded["vector"].to_pylist()[:-2], REFERENCE)
        assert embedded["error"].to_pylist()[-2:] == ["empty, expected a text", "no text"]
        prompted = bulk.Embed(gateway=url, prompt_name="query")(pa.table({"text": [row["text"] for row in PROMPTED]}))
        assert_near(prompted["vector"].to_pylist(), PROMPTED)
        short = bulk.Embed(gateway=url, dimensions=8, normalize=True)(pa.table({"text": ["a"]}))["vector"].to_pylist()[0]
        assert len(short) == 8 and abs(np.linalg.norm(short) - 1) < 1e-6
        with pytest.raises(bulk.GatewayError, match="prompt_name"):
            bulk.Embed(gateway=url, prompt_name="nowhere")
        cut = bulk.Embed(gateway=url)(pa.table({"text": ["g " * 5000]}))  # longer than the model's 64 tokens
        assert cut["error"].null_count == 1


def test_a_gateway_that_is_killed_and_started_again(tmp_path):
    """No row is lost and none is there twice, whenever that comes."""
    count = 4000
    texts = [f"{REFERENCE[i % len(REFERENCE)]['text']} {i}" for i in range(count)]
    write_lines(tmp_path / "a.jsonl", [{"text": text, "id": i} for i, text in enumerate(texts)])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reports = []
    with gateway(port) as (process, url):
        worker = threading.Thread(target=lambda: reports.append(
            bulk.embed(tmp_path / "a.jsonl", tmp_path / "out", gateway=url, part_bytes=20000, request_texts=32, keep=["id:int64"],
                       show_progress=False)))
        worker.start()
        while not any((tmp_path / "out").glob("part-*")):
            time.sleep(0.01)
            assert worker.is_alive()
        process.send_signal(signal.SIGKILL)
        time.sleep(0.5)
        assert worker.is_alive(), "all was done before"
    with gateway(port) as (_, url):
        worker.join(120)
        whole = bulk.Embed(gateway=url)(pa.table({"text": texts}))["vector"].to_pylist()
    rows = rows_of(tmp_path / "out")
    assert [row["id"] for row in rows] == list(range(count)) and reports[0].errors == {}
    # Batches differ, and so may the last bits.
    assert np.abs(np.array([row["vector"] for row in rows]) - np.array(whole)).max() < TOLERANCE
