"""python -m trellis.bulk, which trellis.ray and trellis.spark share."""
import subprocess
import sys

import pytest

pytest.importorskip("pyarrow")

from trellis.bulk import command, here
from fake_gateway import FakeGateway, vector_of
from written import rows_of, table_of, write_lines


def run(*arguments):
    return command.run("trellis.bulk", "", {"tokenize": here.tokenize, "embed": here.embed}, lambda parser: None,
                       [str(one) for one in arguments])


def test_it_is_a_program(tmp_path, tokenizer, compiled):
    write_lines(tmp_path / "a.jsonl", [{"body": "<s> a b c", "n": 1}, {"n": 2}])
    done = subprocess.run([sys.executable, "-m", "trellis.bulk", "tokenize", "--model", compiled, "--column", "body", "--keep",
                           "n:int64", "--no-special-tokens", "--no-match-special-tokens", "--max-length", "3",
                           tmp_path / "a.jsonl", tmp_path / "out"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    want = tokenizer.encode("<s> a b c", add_special_tokens=False, match_special_tokens=False).ids[:3]
    assert [(row["n"], row["ids"]) for row in rows_of(tmp_path / "out")] == [(1, want), (2, None)]
    assert "2 rows, 3 tokens in 1 parts" in done.stdout and "1 rows: no text" in done.stdout and "1 of 1 parts" in done.stderr


def test_counts_of_several_inputs(tmp_path, tokenizer, compiled):
    for name in "ab":
        write_lines(tmp_path / name / "a.jsonl", [{"text": f"text {name}"}])
    assert run("tokenize", "--model", compiled, "--result", "count", tmp_path / "a", tmp_path / "b", tmp_path / "out") == 0
    assert table_of(tmp_path / "out")["count"].to_pylist() == [len(tokenizer.encode("text a").ids)] * 2
    assert [row["source_file"] for row in rows_of(tmp_path / "out")] == ["a/a.jsonl", "b/a.jsonl"]


def test_a_gateway(tmp_path, monkeypatch):
    write_lines(tmp_path / "a.jsonl", [{"text": "abc"}])
    monkeypatch.setenv(command.KEY_VARIABLE, "secret")
    fake = FakeGateway()
    with fake.running() as url:
        assert run("embed", "--gateway", url, "--header", "X-Team=a=b", tmp_path / "a.jsonl", tmp_path / "out") == 0
    assert [row["vector"] for row in rows_of(tmp_path / "out")] == [vector_of("abc")]
    assert {(one["Authorization"], one["X-Team"]) for one in fake.headers} == {("Bearer secret", "a=b")}
    assert "secret" not in (tmp_path / "out" / "_trellis.json").read_text()


def test_what_is_wrong_is_one_line(tmp_path, compiled, capsys):
    write_lines(tmp_path / "a.jsonl", [{"text": "abc"}])
    for arguments, said in ((("--model", tmp_path / "nowhere", tmp_path / "a.jsonl"), "nowhere"),
                            (("--model", compiled, tmp_path / "b.jsonl"), "b.jsonl: no such file"),
                            (("--model", compiled, "--keep", "ids", tmp_path / "a.jsonl"), "keep: 'ids'")):
        assert run("tokenize", *arguments, tmp_path / "out") == 1
        err = capsys.readouterr().err
        assert err.startswith("trellis.bulk: ") and said in err and err.count("\n") == 1
    with pytest.raises(SystemExit) as error:
        run("embed", "--header", "X", "a", "b")
    assert error.value.code == 2 and "expected NAME=VALUE" in capsys.readouterr().err
