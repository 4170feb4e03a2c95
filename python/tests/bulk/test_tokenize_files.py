"""Files to files in this process: ids beside the reference's, odd rows, and going on with a folder."""
import gzip
import json
import os

import pytest

pa = pytest.importorskip("pyarrow")

import trellis
from trellis import bulk
from trellis.bulk import here, job
from written import PAIRS, SINGLE, rows_of, table_of, write_lines, write_parquet

OPTIONS = {"add_special_tokens": False, "threads": 1, "show_progress": False}


def test_ids_are_the_references(tmp_path, compiled):
    texts = [case.row["text"] for case in SINGLE]
    assert len(texts) > 1000
    write_parquet(tmp_path / "in" / "a.parquet", {"text": texts, "id": list(range(len(texts)))}, row_group_size=300)
    write_parquet(tmp_path / "large" / "a.parquet", {"text": pa.array(texts, pa.large_string())})
    write_lines(tmp_path / "lines" / "a.jsonl", [{"text": text, "id": i} for i, text in enumerate(texts)])
    want = [case.row["ids"] for case in SINGLE]
    for name, keep in (("in", ["id"]), ("large", []), ("lines", ["id:int64"])):
        report = bulk.tokenize(tmp_path / name, tmp_path / "out" / name, model=compiled, keep=keep, part_bytes=20000, **OPTIONS)
        rows = rows_of(tmp_path / "out" / name)
        assert [row["ids"] for row in rows] == want
        assert keep == [] or [row["id"] for row in rows] == list(range(len(texts)))
        assert (report.rows, report.tokens, report.errors) == (len(texts), sum(map(len, want)), {})
        assert report.parts > 2 and report.skipped == 0
        assert table_of(tmp_path / "out" / name).schema.field("ids").type == pa.list_(pa.int32())
    bulk.tokenize(tmp_path / "in", tmp_path / "counts", model=compiled, result="count", **OPTIONS)
    assert [row["count"] for row in rows_of(tmp_path / "counts")] == [len(ids) for ids in want]


def test_pairs(tmp_path, compiled):
    first, second = zip(*(case.texts for case in PAIRS))
    write_lines(tmp_path / "a.jsonl", [{"a": a, "b": b} for a, b in zip(first, second)] + [{"a": "no second"}])
    bulk.tokenize(tmp_path / "a.jsonl", tmp_path / "out", model=compiled, column="a", pair="b", show_progress=False)
    rows = rows_of(tmp_path / "out")
    assert [row["ids"] for row in rows] == [case.row["ids"] for case in PAIRS] + [None]
    assert rows[-1]["error"] == "no text"


@pytest.mark.parametrize("options, said", [
    ({"max_length": -4}, "max_length: -4, expected a number from 0 to"), ({"max_length": 10**30}, "max_length: 1000"),
    ({"threads": -1}, "threads: -1, expected a number from 0 to 1024"), ({"part_bytes": 0}, "part_bytes: 0"),
    ({"keep": ["id", "id"]}, "keep: 'id' twice")])
def test_wrong_options(tmp_path, compiled, options, said):
    write_lines(tmp_path / "a.jsonl", [{"text": "a", "id": 1}])
    with pytest.raises(ValueError, match=said):
        bulk.tokenize(tmp_path / "a.jsonl", tmp_path / "out", model=compiled, show_progress=False, **options)
    assert not (tmp_path / "out").exists()


def test_a_damaged_archive_is_named(tmp_path, compiled):
    whole = gzip.compress(b'{"text": "a b"}\n' * 10000)
    for name, data in (("cut.jsonl.gz", whole[:len(whole) // 2]), ("none.jsonl.gz", b'{"text": "a"}\n' * 100)):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=name):
            bulk.tokenize(tmp_path / name, tmp_path / f"{name}.out", model=compiled, show_progress=False)


ODD = [({"text": "a b", "id": 1}, None), ({"text": None, "id": 2}, "no text"), ({"id": 3}, "no text"),
       (b'{"text": "a\xff b", "id": 4}', "line: no UTF-8"), (b'{"text": "\\ud800 b", "id": 5}', "text: a lone surrogate"),
       ({"text": 7, "id": 6}, "text: a int, expected a string"), ([1], "line: a list, expected an object"),
       (b'{"text": "a b"', "line: no JSON: Expecting ',' delimiter"), (b"[" * 100000, "line: no JSON: too deep"),
       ({"text": "", "id": 1 << 70}, "id: no int64"), ({"text": ""}, None), (b'{"text": "\\ud83d\\ude00", "id": 9}', None)]


def test_no_row_is_lost(tmp_path, tokenizer, compiled):
    write_lines(tmp_path / "a.jsonl", [line for line, _ in ODD])
    report = bulk.tokenize(tmp_path / "a.jsonl", tmp_path / "out", model=compiled, keep="id:int64", show_progress=False)
    rows = rows_of(tmp_path / "out")
    assert [row["error"] for row in rows] == [error for _, error in ODD]
    assert all((row["ids"] is None) == (row["error"] is not None) for row in rows)
    assert rows[0]["ids"] == tokenizer.encode("a b").ids and rows[-1]["ids"] == tokenizer.encode("\U0001F600").ids
    assert [row["id"] for row in rows] == [1, 2, 3, None, 5, 6, None, None, None, None, None, 9]
    assert report.errors == {error: sum(one == error for _, one in ODD) for _, error in ODD if error} and report.rows == len(ODD)
    assert "2 rows: no text" in str(report)
    # A place is where the line begins.
    data = (tmp_path / "a.jsonl").read_bytes()
    assert json.loads(data[rows[-1]["source_row"]:]) == {"text": "\U0001F600", "id": 9}


def test_malformed_bytes_can_be_replaced(tmp_path, tokenizer, compiled):
    write_lines(tmp_path / "a.jsonl", [b'{"text": "a\xe2\x82 b"}', b'{"text": "\\ud800 b"}'])
    write_parquet(tmp_path / "b.parquet", {"text": pa.array([b"a\xe2\x82 b", None, b"\xff", b"c"])})
    broken = pa.array([b"a\xe2\x82 b", None, b"\xff", b"c"]).view(pa.string())
    for kind, name, want in (("replace", "a.jsonl", ["a\ufffd b", "\ufffd b"]), ("error", "b.parquet", [None, None, None, "c"]),
                             ("replace", "b.parquet", ["a\ufffd b", None, "\ufffd", "c"])):
        out = tmp_path / f"{kind}-{name}"
        bulk.tokenize(tmp_path / name, out, model=compiled, malformed=kind, show_progress=False)
        ids = [None if text is None else tokenizer.encode(text).ids for text in want]
        assert [row["ids"] for row in rows_of(out)] == ids
    got = bulk.Tokenize(compiled)(pa.table({"text": broken}))
    assert got["error"].to_pylist() == ["no UTF-8", "no text", "no UTF-8", None]


def test_compressed_lines(tmp_path, compiled):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"".join(b'{"text": "%d"}\n' % i for i in range(5000))))
    report = bulk.tokenize(tmp_path / "a.jsonl.gz", tmp_path / "out", model=compiled, part_bytes=100, show_progress=False)
    assert (report.rows, report.parts) == (5000, 1)


def test_tables_of_every_kind(tokenizer, compiled):
    want = [tokenizer.encode("a b").ids, None, tokenizer.encode("c").ids]
    plain = pa.array(["a b", None, "c"])
    for array in (plain, plain.dictionary_encode(), plain.cast(pa.large_string()), plain.cast(pa.string_view()),
                  plain.cast(pa.binary()), pa.chunked_array([plain[:1], plain[1:]])):
        table = bulk.Tokenize(compiled)(pa.table({"text": array, "more": [1, 2, 3]}))
        assert table.column_names == ["text", "more", "ids", "error"]
        assert table["ids"].to_pylist() == want and table["error"].to_pylist() == [None, "no text", None]
    for empty in (pa.table({"text": pa.array([], pa.string())}), pa.table({"text": pa.chunked_array([], pa.string())})):
        assert bulk.Tokenize(compiled)(empty).num_rows == 0
    assert bulk.Tokenize(compiled)(pa.table({"text": pa.nulls(2)}))["ids"].to_pylist() == [None, None]
    for table, said in ((pa.table({"text": [1]}), "column 'text': int64, expected strings"), (pa.table({"a": ["b"]}), "'text'"),
                        (pa.table({"text": ["a"], "error": [1]}), "column 'error' is there already")):
        with pytest.raises(ValueError, match=said):
            bulk.Tokenize(compiled)(table)


def job_of(folder, output, compiled, **options):
    return bulk.tokenize(folder, output, model=compiled, **{**OPTIONS, "part_bytes": 2000, **options})


@pytest.fixture
def folder(tmp_path):
    write_lines(tmp_path / "in" / "a.jsonl", [{"text": f"text {i}"} for i in range(500)])
    write_lines(tmp_path / "in" / "b.jsonl", [{"text": f"more {i}"} for i in range(100)])
    return tmp_path / "in"


def test_it_goes_on_where_it_was(tmp_path, folder, compiled, monkeypatch):
    job_of(folder, tmp_path / "whole", compiled)
    def dies(work, indices):
        for index in indices[:4]:
            job.write_part(work, index)
        # As an engine asks that has lost sight of a worker.
        before = (tmp_path / "out" / "part-000000.parquet").stat()
        job.write_part(work, 0)
        assert (tmp_path / "out" / "part-000000.parquet").stat() == before
        # As a killed worker leaves it.
        (tmp_path / "out" / ".part-000004.parquet.host-1-ab.tmp").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(here, "_all_here", dies)
    with pytest.raises(KeyboardInterrupt):
        job_of(folder, tmp_path / "out", compiled)
    monkeypatch.undo()
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part-*")}
    assert len(before) == 4
    report = job_of(folder, tmp_path / "out", compiled)
    assert report.skipped == 4 and report.rows == 600
    assert rows_of(tmp_path / "out") == rows_of(tmp_path / "whole")
    assert {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in before} == before
    assert sorted(os.listdir(tmp_path / "out")) == sorted([".trellis.lock", "_trellis.json"] +
                                                          [f"part-{i:06}.parquet" for i in range(report.parts)])
    assert job_of(folder, tmp_path / "out", compiled).skipped == report.parts


def test_other_work_is_refused(tmp_path, folder, tokenizer, compiled):
    job_of(folder, tmp_path / "out", compiled, max_length=100)
    # What changes no value, and what is so anyway.
    job_of(folder, tmp_path / "out", compiled, max_length=100, threads=2, malformed="error")
    other = tmp_path / "other.trellis"
    tokenizer.with_added_tokens([trellis.AddedToken("more")]).save_compiled(other)
    for options, said in (({"max_length": 50}, "options.max_length was 100, is 50"), ({}, "options.max_length was 100, is null"),
                          ({"max_length": 100, "keep": ["id"]}, "columns.keep"),
                          ({"max_length": 100, "part_bytes": 3000}, "part_bytes was 2000, is 3000"),
                          ({"max_length": 100, "result": "count"}, 'options.result was null, is "count"')):
        with pytest.raises(ValueError, match=said):
            job_of(folder, tmp_path / "out", compiled, **options)
    with pytest.raises(ValueError, match="model was"):
        job_of(folder, tmp_path / "out", other, max_length=100)
    os.utime(folder / "b.jsonl", ns=(1, 1))
    with pytest.raises(ValueError, match="inputs.b.jsonl.modified_ns was"):
        job_of(folder, tmp_path / "out", compiled, max_length=100)
    write_lines(tmp_path / "full" / "notes.txt", [{}])
    with pytest.raises(ValueError, match="full has notes.txt and no _trellis.json, expected an empty folder"):
        job_of(folder, tmp_path / "full", compiled)


def test_what_is_wrong_is_said_before_the_work(tmp_path, folder, compiled):
    for options, said in (({"max_length": 1, "add_special_tokens": True}, "max_length 1"),
                          ({"result": "words"}, "result: 'words'"),
                          ({"keep": ["ids"]}, "keep: 'ids'"), ({"keep": ["id:date"]}, "keep: 'id:date'"),
                          ({"malformed": "drop"}, "malformed: 'drop'"), ({"part_bytes": -1}, "part_bytes: -1")):
        with pytest.raises(ValueError, match=said):
            job_of(folder, tmp_path / "out", compiled, **options)
    with pytest.raises(FileNotFoundError):
        job_of(folder, tmp_path / "out", tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()


def test_one_job_at_a_time(tmp_path, folder, compiled, monkeypatch):
    def other(work, indices):
        with pytest.raises(ValueError, match="another job is at work"):
            job.run("tokenize", folder, tmp_path / "out", all_here, model=compiled, **{**OPTIONS, "part_bytes": 2000})
        all_here(work, indices)

    all_here = here._all_here
    monkeypatch.setattr(here, "_all_here", other)
    assert job_of(folder, tmp_path / "out", compiled).rows == 600


def test_a_part_that_is_missing_or_not_ours(tmp_path, folder, compiled, monkeypatch):
    monkeypatch.setattr(here, "_all_here", lambda work, indices: None)
    with pytest.raises(RuntimeError, match="parts are missing, part-000000.parquet the first"):
        job_of(folder, tmp_path / "out", compiled)
    monkeypatch.undo()
    write_parquet(tmp_path / "out" / "part-000000.parquet", {"text": ["a"]})
    with pytest.raises(ValueError, match="part-000000.parquet: no part that a job has written"):
        job_of(folder, tmp_path / "out", compiled)


def test_progress(tmp_path, folder, compiled, capfd):
    job_of(folder, tmp_path / "out", compiled, show_progress=True)
    assert "600 rows" in capfd.readouterr().err
    assert trellis.__version__ in (tmp_path / "out" / "_trellis.json").read_text()
