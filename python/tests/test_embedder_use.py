"""trellis.Embedder in programs: threads, interrupts, forks, pickles, builds without its engine."""
import concurrent.futures
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

try:
    from trellis import Embedder
except ImportError as reason:
    pytest.skip(str(reason), allow_module_level=True)

from test_embedder import MODELS, TEXTS, TOLERANCE, tiny


@pytest.fixture(scope="module")
def bert():
    return tiny()


def test_threads_of_python_take_turns(bert):
    want = bert.encode(TEXTS)
    shared = tiny(threads=2)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: shared.encode(TEXTS), range(40)):
            assert np.allclose(got, want, atol=TOLERANCE)


def test_others_run_meanwhile(bert):
    """The GIL is not held: a thread of Python counts on."""
    texts = ["water " * 40] * 4000
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        job, turns = pool.submit(bert.encode, texts), 0
        while not job.done():
            turns += 1
            time.sleep(0.0005)
    assert job.result().shape[0] == 4000 and turns > 5


def test_interrupted(bert):
    """Ctrl-C is heard between batches, and what is interrupted can be used on."""
    # By another signal: SIGINT may be ignored, or be somebody else's, where tests run.
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            bert.encode(["water " * 40] * 200000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert bert.encode(TEXTS).shape[0] == 4


def test_pickled(bert):
    again = pickle.loads(pickle.dumps(bert))
    assert repr(again) == repr(bert) and (again.encode(TEXTS) == bert.encode(TEXTS)).all()


def embed_here(embedder):
    return embedder.encode(TEXTS)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_other_processes(bert, method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        for got in pool.map(embed_here, [bert] * 4):
            assert (got == bert.encode(TEXTS)).all()


FORKS = """
import os, sys
from trellis import Embedder
embedder = Embedder(sys.argv[1], dtype="f32", threads=2)
before = embedder.encode(["a b c"]).tolist()
child = os.fork()
if child == 0:
    assert embedder.encode(["a b c"]).tolist() == before
    unused = Embedder(sys.argv[1], dtype="f32", threads=2)
    if os.fork() == 0:
        sys.exit(7)   # ends embedders that others opened
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert embedder.encode(["a b c"]).tolist() == before
"""


def test_a_fork_opens_the_folder_again():
    done = subprocess.run([sys.executable, "-c", FORKS, MODELS / "tiny-bert"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_without_the_engine(tmp_path):
    """A build without oneDNN: all but Embedder, and that says what is missing."""
    import trellis
    folder = tmp_path / "trellis"
    folder.mkdir()
    for file in pathlib.Path(trellis.__file__).parent.iterdir():
        if not file.name.startswith("_engine") and file.is_file():
            os.symlink(file, folder / file.name)
    said = subprocess.run([sys.executable, "-c", "import trellis; trellis.Tokenizer; trellis.Embedder"], capture_output=True,
                          text=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert "ImportError: trellis.Embedder is not in this build of trellis: expected oneDNN" in said.stderr
