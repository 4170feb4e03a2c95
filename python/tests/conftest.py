import pytest

import trellis
from reference_cases import MODEL


@pytest.fixture(scope="session")
def model_file():
    assert (MODEL / "tokenizer.json").exists(), f"{MODEL}: no model, expected what tools/fetch_model puts there"
    return MODEL / "tokenizer.json"


@pytest.fixture(scope="session")
def tokenizer(model_file):
    return trellis.Tokenizer.from_file(model_file)
