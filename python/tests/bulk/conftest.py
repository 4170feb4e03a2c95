import pytest


@pytest.fixture(scope="session")
def compiled(tokenizer, tmp_path_factory):
    """Compiled: each job loads it anew."""
    path = tmp_path_factory.mktemp("model") / "model.trellis"
    tokenizer.save_compiled(path)
    return path
