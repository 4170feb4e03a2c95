"""A job: input files to a folder of parts. An engine is who calls write_part for each split, in whatever process and order."""
from __future__ import annotations

import dataclasses
import inspect
import os
import pathlib
import re
import sys
import time
import typing

import pyarrow as pa

from trellis.bulk import columns as computed_columns
from trellis.bulk import jsonl_rows, manifest, parquet_rows, parts, progress, rows, splits
from trellis.bulk.embedding import Embed
from trellis.bulk.inputs import JSONL, find_inputs
from trellis.bulk.tokenizing import Tokenize

OPERATIONS = {"tokenize": Tokenize, "embed": Embed}
# Of input, for a part: some seconds' work of a core.
PART_BYTES = {"tokenize": 64 << 20, "embed": 4 << 20}
# What changes no value.
OF_THE_RUN = ("model", "gateway", "threads", "concurrency", "request_texts", "request_tokens", "api_key", "headers", "timeout",
              "patience")


class JobError(RuntimeError):
    """A worker could not go on. What it had finished is there; the same call again goes on."""

    @staticmethod
    def of(said: str) -> JobError:
        """Of what an engine says, which is long and has the cause as the last line that names an exception."""
        causes = re.findall(r"^\s*(?:[\w.]+\.)?[A-Z]\w*Error: .+", said, re.M)
        return JobError(causes[-1].strip() if causes else said.strip().splitlines()[0] if said.strip() else "a worker failed")


@dataclasses.dataclass(frozen=True)
class Job:
    """What workers are told; all of it can be pickled."""
    task: str
    options: dict[str, typing.Any]
    columns: rows.Columns
    fields: tuple[pa.Field, ...]
    output: str
    splits: tuple[splits.Split, ...]

    def schema(self, result: pa.Field) -> pa.Schema:
        return pa.schema([rows.FILE, rows.ROW, *self.fields, result, computed_columns.ERROR])

    def waiting(self) -> list[int]:
        there = set(os.listdir(self.output))
        return [split.index for split in self.splits if split.part not in there]


@dataclasses.dataclass
class Report:
    """parts: all of them; skipped: those that a run before this one had finished."""
    output: str
    parts: int
    skipped: int
    rows: int
    tokens: int | None
    errors: dict[str, int]
    seconds: float

    def __str__(self) -> str:
        tokens = "" if self.tokens is None else f", {self.tokens:,} tokens"
        lines = [f"{self.output}: {self.rows:,} rows{tokens} in {self.parts:,} parts ({self.skipped:,} were there), "
                 f"{sum(self.errors.values()):,} rows without a result; {self.seconds:.1f} s"]
        lines += [f"  {count:,} rows: {error}" for error, count in sorted(self.errors.items(), key=lambda one: -one[1])]
        return "\n".join(lines)


def run(task: str, input, output: str | os.PathLike, engine: typing.Callable[[Job, list[int]], None], *, column: str = "text",
        pair: str | None = None, keep=(), format: str | None = None, part_bytes: int | None = None, show_progress: bool = True,
        **options: typing.Any) -> Report:
    """engine(job, indices) returns when write_part has been called for each of these splits."""
    began = time.monotonic()
    files = find_inputs(input, format, output)
    columns = rows.Columns(column, pair, tuple([keep] if isinstance(keep, str) else keep))
    if twice := [one for one in columns.keep if columns.keep.count(one) > 1]:
        raise ValueError(f"keep: {twice[0]!r} twice, expected each column once")
    fields = jsonl_rows.kept_fields(columns) if files[0].format == JSONL else parquet_rows.kept_fields(files, columns)
    part_bytes = PART_BYTES[task] if part_bytes is None else part_bytes
    if pair is not None and task == "embed":
        raise ValueError(f"pair: {pair!r}, expected none: vectors are of single texts")
    options = {"column": column, **({"pair": pair} if task == "tokenize" else {}), **options}
    if options.get("model") is not None:  # for workers with another working directory
        options["model"] = os.path.abspath(options["model"])
    job = Job(task, options, columns, tuple(fields), os.path.abspath(output), tuple(splits.plan_splits(files, part_bytes)))
    # Here too: what is wrong with an option, a model or a gateway ends the job before it has begun.
    made = operation(task, options)
    names = job.schema(made.field).names
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"keep: {twice[0]!r} is the name of a column that is written, expected another")
    pathlib.Path(output).mkdir(parents=True, exist_ok=True)
    lock = manifest.Lock(output)
    try:
        manifest.agree(output, manifest.describe(_what(job, made, part_bytes), files))
        removed = parts.remove_leftovers(output)
        if removed and show_progress:
            print(f"trellis: removed {removed} unfinished parts of a run before", file=sys.stderr)
        waiting = job.waiting()
        with progress.Progress(job.output, [split.part for split in job.splits], show_progress) as shown:
            if waiting:
                engine(job, waiting)
        counts = shown.finish()
        parts.remove_leftovers(output)  # of workers that died in this run
    finally:
        lock.release()
    return Report(job.output, len(job.splits), len(job.splits) - len(waiting), counts.rows, counts.tokens, counts.errors,
                  time.monotonic() - began)


def _what(job: Job, made, part_bytes: int) -> dict[str, typing.Any]:
    model = job.options.get("model")
    if model is None:
        made_by: typing.Any = {"gateway_model": made.served_model, "dimensions": made.served_dimensions}
    else:
        made_by = manifest.digest(model, manifest.TOKENIZER_FILES if job.task == "tokenize" else manifest.MODEL_FILES)
    defaults = {name: one.default for name, one in inspect.signature(OPERATIONS[job.task]).parameters.items()}
    chosen = {name: value for name, value in sorted(job.options.items())
              if name not in OF_THE_RUN and name not in ("column", "pair") and value != defaults[name]}
    return {"task": job.task, "model": made_by, "columns": dataclasses.asdict(job.columns), "part_bytes": part_bytes,
            "options": chosen}


_operations: dict[str, typing.Any] = {}


def operation(task: str, options: dict[str, typing.Any]):
    """Made once a process, which engines use for many parts; one at a time."""
    key = repr((task, sorted(options.items())))
    if key not in _operations:
        _operations.clear()
        _operations[key] = OPERATIONS[task](**options)
    return _operations[key]


def forget_operation() -> None:
    """Where other processes do the work, a model's memory is theirs."""
    _operations.clear()


def write_part(job: Job, index: int) -> None:
    """In a worker's process. A part that is there is left alone: an engine may ask twice."""
    split = job.splits[index]
    if os.path.exists(os.path.join(job.output, split.part)):
        return
    made = operation(job.task, job.options)
    schema = job.schema(made.field)
    with parts.PartWriter(job.output, split.part, schema) as writer:
        reader = (jsonl_rows.read_jsonl(split, job.columns, job.options.get("malformed", "error"))
                  if split.file.format == JSONL else parquet_rows.read_parquet(split, job.columns))
        for batch in reader:
            computed = made.compute(batch.text, batch.pair)
            file = pa.repeat(split.file.name, len(batch.places))
            errors = computed_columns.both(batch.errors, computed.errors)
            writer.write(pa.table([file, batch.places, *batch.kept, computed.values, errors], schema=schema), computed.tokens)
