"""On a local Ray: a pipeline of one's own, a job, workers and drivers that are killed."""
import pytest

ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")

import trellis.ray
from fake_gateway import FakeGateway, vector_of
from killing import OPTIONS, assert_whole, kill_driver, kill_workers, write_input
from written import SINGLE, rows_of, write_lines, write_parquet


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def test_a_pipeline_of_ones_own(tmp_path, compiled):
    write_parquet(tmp_path / "a.parquet", {"body": [case.row["text"] for case in SINGLE] + [None],
                                           "place": list(range(len(SINGLE) + 1))}, row_group_size=200)
    options = {"model": compiled, "column": "body", "add_special_tokens": False}
    rows = ray.data.read_parquet(str(tmp_path / "a.parquet")).map_batches(
        trellis.ray.Tokenize, fn_constructor_kwargs=options, batch_format="pyarrow", batch_size=100,
        compute=ray.data.ActorPoolStrategy(size=1))  # reading needs a processor, too
    got = sorted(rows.take_all(), key=lambda row: row["place"])
    assert [list(row["ids"]) for row in got[:-1]] == [case.row["ids"] for case in SINGLE]
    assert got[-1]["ids"] is None and got[-1]["error"] == "no text"


def test_a_job_whose_workers_are_killed(tmp_path, compiled):
    source, output = write_input(tmp_path / "in"), tmp_path / "out"
    report = kill_workers(output, lambda: trellis.ray.tokenize(source, output, model=compiled, workers=2, **OPTIONS), 2)
    assert_whole(output, report)
    assert report.skipped == 0


def test_a_job_that_is_killed_goes_on(tmp_path, compiled):
    source, output = write_input(tmp_path / "in"), tmp_path / "out"
    kill_driver("trellis.ray", ["--workers", "1"], source, output, compiled)
    report = trellis.ray.tokenize(source, output, model=compiled, **OPTIONS)
    assert_whole(output, report)
    assert 2 <= report.skipped < report.parts


def test_vectors_of_a_gateway(tmp_path):
    texts = [f"text {i}" for i in range(300)]
    write_lines(tmp_path / "a.jsonl", [{"text": text} for text in texts])
    fake = FakeGateway({"model_id": "fake", "max_client_batch_size": 16},
                       lambda number, texts: (429, {"Retry-After": "0.1"}, {"error": "full"}) if number % 3 == 2 else None)
    with fake.running() as url:
        report = trellis.ray.embed(tmp_path / "a.jsonl", tmp_path / "out", gateway=url, part_bytes=1000, concurrency=2,
                                   show_progress=False)
    assert [row["vector"] for row in rows_of(tmp_path / "out")] == [vector_of(text) for text in texts]
    assert report.rows == 300 and fake.most_at_once <= 4  # two workers
    assert fake.headers


def test_what_ends_a_job_is_said(tmp_path):
    write_lines(tmp_path / "a.jsonl", [{"text": str(i)} for i in range(100)])
    fake = FakeGateway(fault=lambda number, texts: (401, {}, {"error": {"message": "no key"}}) if number else None)
    with fake.running() as url:
        with pytest.raises(trellis.ray.JobError, match="^[^\n]*GatewayError: http[^\n]*401: no key$"):
            trellis.ray.embed(tmp_path / "a.jsonl", tmp_path / "out", gateway=url, show_progress=False)
    with pytest.raises(ValueError, match="workers: 0"):
        trellis.ray.embed(tmp_path / "a.jsonl", tmp_path / "out", gateway=url, workers=0)
