"""Parts of the output: written beside their place under a name that nobody reads, and there at once when they are whole."""
from __future__ import annotations

import collections
import dataclasses
import json
import os
import pathlib
import re
import secrets
import socket

import pyarrow as pa
import pyarrow.parquet as pq

METADATA = b"trellis"
KINDS = 20  # of errors that are told apart
TEMPORARY = re.compile(r"\.part-\d+\.parquet\..*\.tmp")


@dataclasses.dataclass
class Counts:
    rows: int = 0
    tokens: int | None = 0  # None: not known
    errors: dict[str, int] = dataclasses.field(default_factory=dict)

    def add(self, other: Counts) -> None:
        self.rows += other.rows
        self.tokens = None if self.tokens is None or other.tokens is None else self.tokens + other.tokens
        for error, count in other.errors.items():
            known = error in self.errors or len(self.errors) < KINDS
            self.errors[error if known else "others"] = self.errors.get(error if known else "others", 0) + count

    @property
    def failed(self) -> int:
        return sum(self.errors.values())


def count(table: pa.Table, tokens: int | None) -> Counts:
    said = collections.Counter(one for one in table["error"].drop_null().to_pylist())
    counts = Counts(0, tokens, {})
    counts.add(Counts(table.num_rows, 0, dict(said)))
    return counts


class PartWriter:
    """with PartWriter(...) as writer: writer.write(table, tokens). Left by an exception, there is no part."""

    def __init__(self, folder: str | os.PathLike, name: str, schema: pa.Schema):
        self._path = pathlib.Path(folder) / name
        # Two workers may write one part, where the engine thinks that the first is gone.
        self._temporary = self._path.with_name(f".{name}.{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
        self._schema = schema
        self.counts = Counts()

    def __enter__(self) -> PartWriter:
        self._file = open(self._temporary, "xb")
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")
        return self

    def write(self, table: pa.Table, tokens: int | None) -> None:
        self._writer.write_table(table)
        self.counts.add(count(table, tokens))

    def __exit__(self, kind, value, traceback) -> None:
        try:
            if kind is None:
                self._writer.add_key_value_metadata({METADATA: json.dumps(dataclasses.asdict(self.counts))})
            self._writer.close()
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
                os.replace(self._temporary, self._path)
        finally:
            self._file.close()
            self._temporary.unlink(missing_ok=True)


def counts_of(path: str | os.PathLike) -> Counts:
    """What its writer counted."""
    try:
        metadata = pq.read_metadata(path)
        counts = Counts(**json.loads((metadata.metadata or {})[METADATA]))
    except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no part that a job has written ({error}); remove it to have it written again") from None
    if counts.rows != metadata.num_rows:
        raise ValueError(f"{path}: {metadata.num_rows} rows, expected {counts.rows}, as its writer counted")
    return counts


def remove_leftovers(folder: str | os.PathLike) -> int:
    """What killed workers left; nobody else may be at work in the folder."""
    leftovers = [path for path in pathlib.Path(folder).iterdir() if TEMPORARY.fullmatch(path.name)]
    for path in leftovers:
        path.unlink(missing_ok=True)
    return len(leftovers)
