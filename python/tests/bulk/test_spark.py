"""On a local Spark: a DataFrame, a job, workers and drivers that are killed."""
import os
import sys

import pytest

pytest.importorskip("pyspark")

# Else workers run whichever python3 is the first on PATH.
os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession

import trellis.spark
from fake_gateway import FakeGateway, vector_of
from killing import OPTIONS, assert_whole, kill_driver, kill_workers, write_input
from written import PAIRS, SINGLE, rows_of, write_lines

MASTER = "local[2,4]"  # each task is tried four times


@pytest.fixture(scope="module")
def spark():
    session = (SparkSession.builder.master(MASTER).appName("trellis").config("spark.ui.enabled", "false")
               .config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2").getOrCreate())
    yield session
    session.stop()


def in_order(df):
    return sorted(df.collect(), key=lambda row: row.id)


def test_a_data_frame(spark, compiled):
    texts = [case.row["text"] for case in SINGLE] + [None]
    df = spark.createDataFrame(list(enumerate(texts)), "id int, body string")
    want = [case.row["ids"] for case in SINGLE] + [None]
    done = trellis.spark.tokenize(df.repartition(3), compiled, column="body", add_special_tokens=False)
    assert done.columns == ["id", "body", "ids", "error"]
    rows = in_order(done)
    assert [row.ids for row in rows] == want and rows[-1].error == "no text" and rows[0].error is None
    counts = in_order(trellis.spark.tokenize(df, compiled, column="body", result="count", add_special_tokens=False))
    assert [row["count"] for row in counts] == [None if ids is None else len(ids) for ids in want]


def test_a_function_of_a_column(spark, compiled):
    some = SINGLE[:100]
    df = spark.createDataFrame(list(enumerate([case.row["text"] for case in some] + [None])), "id int, body string")
    df.createOrReplaceTempView("texts")
    for result, want in (("ids", [case.row["ids"] for case in some]), ("count", [len(case.row["ids"]) for case in some])):
        spark.udf.register("tokens", trellis.spark.tokenizer_udf(compiled, result=result, add_special_tokens=False))
        assert [row.got for row in in_order(spark.sql("SELECT id, tokens(body) AS got FROM texts"))] == [*want, None]


def test_a_data_frame_of_pairs(spark, compiled):
    df = spark.createDataFrame([(i, *case.texts) for i, case in enumerate(PAIRS)], "id int, a string, b string")
    rows = in_order(trellis.spark.tokenize(df, compiled, column="a", pair="b"))
    assert [row.ids for row in rows] == [case.row["ids"] for case in PAIRS]


def test_what_a_data_frame_lacks(spark, compiled):
    df = spark.createDataFrame([("a", "b")], "text string, error string")
    for options, said in (({"column": "words"}, "column: 'words'"), ({"pair": "more"}, "column: 'more'"),
                          ({}, "column 'error' is there already"), ({"result": "words"}, "result: 'words'")):
        with pytest.raises(ValueError, match=said):
            trellis.spark.tokenize(df, compiled, **options)


def test_vectors_of_a_data_frame(spark):
    texts = [f"text {i}" for i in range(100)]
    with FakeGateway({"model_id": "fake"}).running() as url:
        rows = trellis.spark.embed(spark.createDataFrame([(text,) for text in texts], "text string"), gateway=url).collect()
    assert {row.text: list(row.vector) for row in rows} == {text: vector_of(text) for text in texts}


def test_a_job_whose_workers_are_killed(tmp_path, spark, compiled):
    source, output = write_input(tmp_path / "in"), tmp_path / "out"
    report = kill_workers(output, lambda: trellis.spark.tokenize_files(source, output, model=compiled, spark=spark, **OPTIONS), 2)
    assert_whole(output, report)
    assert report.skipped == 0


def test_a_job_that_is_killed_goes_on(tmp_path, spark, compiled):
    source, output = write_input(tmp_path / "in"), tmp_path / "out"
    kill_driver("trellis.spark", ["--master", "local[1]"], source, output, compiled)
    report = trellis.spark.tokenize_files(source, output, model=compiled, spark=spark, **OPTIONS)
    assert_whole(output, report)
    assert 2 <= report.skipped < report.parts


def test_vectors_of_a_gateway(tmp_path, spark):
    texts = [f"text {i}" for i in range(300)]
    write_lines(tmp_path / "a.jsonl", [{"text": text} for text in texts])
    with FakeGateway({"model_id": "fake", "max_client_batch_size": 16}).running() as url:
        report = trellis.spark.embed_files(tmp_path / "a.jsonl", tmp_path / "out", spark=spark, gateway=url, part_bytes=1000,
                                           show_progress=False)
    assert [row["vector"] for row in rows_of(tmp_path / "out")] == [vector_of(text) for text in texts] and report.rows == 300


def test_what_ends_a_job_is_said(tmp_path, spark):
    write_lines(tmp_path / "a.jsonl", [{"text": str(i)} for i in range(100)])
    fake = FakeGateway(fault=lambda number, texts: (401, {}, {"error": {"message": "no key"}}) if len(texts) > 1 else None)
    with fake.running() as url:
        with pytest.raises(trellis.spark.JobError, match="^[^\n]*GatewayError: http[^\n]*401: no key$"):
            trellis.spark.embed_files(tmp_path / "a.jsonl", tmp_path / "out", spark=spark, gateway=url, show_progress=False)
