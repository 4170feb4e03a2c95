"""README.md's examples run as they stand there, and print what the comments behind say."""
import contextlib
import io
import re

import pytest

from reference_cases import MODEL, ROOT

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "python" / "README.md").read_text(), re.S)


def test_there_are_examples():
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("block", BLOCKS)
def test_example(block, monkeypatch):
    if "Embedder" in block:
        pytest.importorskip("trellis._engine", exc_type=ImportError)
        if not (MODEL / "model.safetensors").exists():
            pytest.skip(f"{MODEL}: no weights")
    if "trellis.transformers" in block:
        pytest.importorskip("transformers")
    monkeypatch.chdir(ROOT)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block, "README.md", "exec"), {})
    said = re.findall(r"^print\(.*?\)\s+# (.*)$", block, re.M)
    if said:
        assert out.getvalue().splitlines() == said
    else:
        assert out.getvalue()
