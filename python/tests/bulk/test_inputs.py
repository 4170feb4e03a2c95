"""Which files a job has, and how they are cut."""
import pytest

pa = pytest.importorskip("pyarrow")

from trellis.bulk.inputs import find_inputs
from trellis.bulk.rows import Columns
from trellis.bulk.splits import plan_splits
from trellis.bulk import jsonl_rows, parquet_rows
from written import write_lines, write_parquet


def names(*inputs, **options):
    return [file.name for file in find_inputs(*inputs, **options)]


def test_files_folders_patterns(tmp_path):
    for name in ("b/2.jsonl", "b/1.jsonl.gz", "a.jsonl", "_SUCCESS", ".a.jsonl", "_old/3.jsonl", "notes.txt"):
        write_lines(tmp_path / name, [{}])
    assert names(tmp_path) == ["a.jsonl", "b/1.jsonl.gz", "b/2.jsonl"]
    assert names(tmp_path / "b" / "2.jsonl") == ["2.jsonl"]
    assert names(str(tmp_path / "*" / "*.jsonl")) == ["_old/3.jsonl", "b/2.jsonl"]
    assert names([tmp_path / "b", tmp_path / "a.jsonl", tmp_path / "a.jsonl"]) == ["a.jsonl", "b/1.jsonl.gz", "b/2.jsonl"]
    assert names(tmp_path / "notes.txt", format="jsonl") == ["notes.txt"]


def test_links_that_go_round(tmp_path):
    write_lines(tmp_path / "in" / "a.jsonl", [{}])
    write_lines(tmp_path / "other" / "b.jsonl", [{}])
    (tmp_path / "in" / "self").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "linked").symlink_to(tmp_path / "other")
    (tmp_path / "other" / "back").symlink_to(tmp_path / "in")
    assert names(tmp_path / "in") == ["a.jsonl", "linked/b.jsonl"]


def test_output_below_the_input(tmp_path):
    write_lines(tmp_path / "in" / "a.jsonl", [{}])
    with pytest.raises(ValueError, match="out lies in the input .*in, where it would be input the next time"):
        find_inputs(tmp_path / "in", output=tmp_path / "in" / "sub" / "out")
    assert names(tmp_path / "in", output=tmp_path / "in" / "_out") == ["a.jsonl"]
    assert names(tmp_path / "in" / "a.jsonl", output=tmp_path / "in" / "out") == ["a.jsonl"]


def test_what_is_refused(tmp_path):
    write_lines(tmp_path / "in" / "a.jsonl", [{}])
    write_lines(tmp_path / "in" / "notes.txt", [{}])
    write_parquet(tmp_path / "in" / "b.parquet", {"text": ["a"]})
    (tmp_path / "empty").mkdir()
    for inputs, options, said in ((tmp_path / "in", {}, "jsonl and parquet, expected one kind"),
                                  (tmp_path / "in" / "notes.txt", {}, "no known kind"),
                                  (tmp_path / "empty", {}, "no input file"), ([], {}, "no file"),
                                  (tmp_path / "in" / "a.jsonl", {"output": tmp_path / "in"}, "holds input files"),
                                  (tmp_path / "in" / "a.jsonl", {"format": "csv"}, "format: 'csv'")):
        with pytest.raises(ValueError, match=said):
            find_inputs(inputs, **options)
    with pytest.raises(FileNotFoundError, match="no such file"):
        find_inputs(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="pattern"):
        find_inputs(str(tmp_path / "*.jsonl"))


@pytest.mark.parametrize("part_bytes", [1, 2, 7, 8, 9, 100, 10000])
@pytest.mark.parametrize("ending", [b"\n", b""])
def test_each_line_is_in_one_split(tmp_path, part_bytes, ending):
    lines = [b"{}", b"", b'{"text":"a"}', b"  ", b'{"text":"bcdefgh"}', b"x" * 50, b"{}\r"]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(lines) + ending)
    want, place = [], 0
    for line in lines:
        if line.strip():
            want.append(place)
        place += len(line) + 1
    splits = plan_splits(find_inputs(path), part_bytes)
    assert [split.index for split in splits] == list(range(len(splits)))
    got = [place for split in splits for rows in jsonl_rows.read_jsonl(split, Columns("text"), "error")
           for place in rows.places.to_pylist()]
    assert got == want


@pytest.mark.parametrize("part_bytes", [1, 100, 1000, 3000, 1 << 20])
@pytest.mark.parametrize("group", [1, 7, 100])
def test_each_row_is_in_one_split(tmp_path, part_bytes, group):
    write_parquet(tmp_path / "a.parquet", {"text": [f"{i} " * 20 for i in range(100)]}, row_group_size=group)
    write_parquet(tmp_path / "b.parquet", {"text": [str(i) for i in range(100, 103)]})
    write_parquet(tmp_path / "c.parquet", {"text": pa.array([], pa.string())})
    splits = plan_splits(find_inputs(tmp_path), part_bytes)
    rows = [rows for split in splits for rows in parquet_rows.read_parquet(split, Columns("text", keep=("text",)))]
    texts = [text for one in rows for text in one.text.to_pylist()]
    assert texts == [f"{i} " * 20 for i in range(100)] + ["100", "101", "102"]
    assert [place for one in rows for place in one.places.to_pylist()] == [*range(100), 0, 1, 2]
    assert len(splits) == (2 if part_bytes == 1 << 20 else len(splits)) and (part_bytes > 1 or len(splits) == 103)


def test_a_split_of_many_batches(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"text": [str(i) for i in range(20000)]}, row_group_size=15000)
    for part_bytes in (1 << 20, 50000):
        splits = plan_splits(find_inputs(tmp_path / "a.parquet"), part_bytes)
        rows = [rows for split in splits for rows in parquet_rows.read_parquet(split, Columns("text"))]
        assert len(rows) > len(splits)
        assert [place for one in rows for place in one.places.to_pylist()] == list(range(20000))
        assert [text for one in rows for text in one.text.to_pylist()] == [str(i) for i in range(20000)]


def test_parquet_files_must_agree(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"text": ["a"], "id": [1]})
    write_parquet(tmp_path / "b.parquet", {"text": ["a"], "id": ["1"]})
    files = find_inputs(tmp_path)
    assert parquet_rows.kept_fields(files, Columns("text")) == []
    with pytest.raises(ValueError, match=r"b.parquet: column 'id' is string, expected int64, as in .*a.parquet"):
        parquet_rows.kept_fields(files, Columns("text", keep=("id",)))
    with pytest.raises(ValueError, match=r"a.parquet: 0 columns 'words', expected one"):
        parquet_rows.kept_fields(files, Columns("words"))
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match="a.parquet.*expected a Parquet file"):
        plan_splits(find_inputs(tmp_path), 100)
