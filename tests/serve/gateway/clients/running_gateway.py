"""trellis-gateway as a child on a free port, for the scripts beside this file, and what they all need."""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[4]
TINY_MODELS = ROOT / "tests" / "serve" / "models"
# A sanitizer makes all of it slower.
START_SECONDS = 300


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gateway", required=True, help="the program trellis-gateway")
    parser.add_argument("--model", required=True, help="folder of multilingual-e5-small")
    return parser.parse_args()


@contextlib.contextmanager
def gateway(program, model, *flags, until="ready on"):
    """Runs the program until the block ends; yields the URL. It must end well: with status 0, all answered."""
    process = subprocess.Popen(
        [program, "--model", str(model), "--port", "0", "--threads", "1", "--access-log", "false", *flags],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said, url = [], None
    watchdog = threading.Timer(START_SECONDS, process.kill)
    watchdog.start()
    for line in process.stderr:
        said.append(line)
        if "listening on" in line:
            url = "http://" + line.rsplit(" ", 1)[1].strip()
        if until in line:
            break
    watchdog.cancel()
    # Read on, or a full pipe would stop it.
    reader = threading.Thread(target=lambda: said.extend(process.stderr))
    reader.start()
    try:
        assert url is not None and process.poll() is None, "".join(said)
        yield url
        process.send_signal(signal.SIGTERM)
        assert process.wait(START_SECONDS) == 0, "".join(said)
        reader.join()
        assert any("drained: every accepted request was answered" in line for line in said), "".join(said)
    finally:
        process.kill()
        process.wait()
        reader.join()


def reference(name):
    """What transformers and sentence-transformers say of a tiny model (tools/make_tiny_models)."""
    return json.loads((TINY_MODELS / name / "reference.json").read_text(encoding="utf-8"))


def demo_references():
    """Texts with the demo model's vectors as torch computed them; none where TRELLIS_CASES does not say where."""
    folder = os.environ.get("TRELLIS_CASES")
    if not folder:
        return []
    with open(os.path.join(folder, "embeddings_e5_small.jsonl"), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def assert_near(values, expected, bound=1e-5):
    assert len(values) == len(expected), (len(values), len(expected))
    worst = max(abs(a - b) for a, b in zip(values, expected))
    assert worst <= bound, worst


def cosine(a, b):
    dot = sum(x * y for x, y in zip(a, b))
    return dot / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5


def run(*tests):
    for test in tests:
        test()
        print(f"ok {test.__name__}", flush=True)
