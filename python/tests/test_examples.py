"""tools/examples in Python, run with this interpreter as a user runs them."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_encode_lines():
    done = subprocess.run([sys.executable, ROOT / "tests" / "examples" / "lines_test.py", sys.executable,
                           ROOT / "tools" / "examples" / "encode_lines.py"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
