"""tools/examples on Ray and Spark, run with this interpreter as a user runs them."""
import os
import subprocess
import sys

import pytest

from reference_cases import MODEL, ROOT
from written import SINGLE, table_of, write_parquet


@pytest.mark.parametrize("engine,package", [("ray", "ray"), ("spark", "pyspark")])
def test_example(engine, package, tmp_path, tokenizer):
    pytest.importorskip(package)
    texts = [case.row["text"] for case in SINGLE[:200]]
    write_parquet(tmp_path / "in" / "a.parquet", {"text": texts + [None], "place": list(range(201))})
    example = ROOT / "tools" / "examples" / f"tokenize_with_{engine}.py"
    done = subprocess.run([sys.executable, example, MODEL, tmp_path / "in", tmp_path / "out"], capture_output=True, text=True,
                          env={**os.environ, "PYSPARK_PYTHON": sys.executable}, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = sorted(table_of(tmp_path / "out").to_pylist(), key=lambda row: row["place"])
    special = [tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>")]
    # The reference's ids, between the template's (XLM-RoBERTa's: <s> A </s>).
    assert [row["ids"] for row in rows[:-1]] == [[special[0], *case.row["ids"], special[1]] for case in SINGLE[:200]]
    assert rows[-1]["ids"] is None and rows[-1]["error"] == "no text"
