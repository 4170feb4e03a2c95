"""Rows of Parquet files: a row's place is its number in the file."""
from __future__ import annotations

import collections.abc

import pyarrow as pa
import pyarrow.parquet as pq

from trellis.bulk.inputs import InputFile
from trellis.bulk.rows import BATCH_BYTES, BATCH_ROWS, Columns, Rows
from trellis.bulk.splits import Split


def open_parquet(path: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: {error}, expected a Parquet file") from None


def kept_fields(files: list[InputFile], columns: Columns) -> list[pa.Field]:
    """Types are those of the files, which must agree on what is read of them."""
    first: dict[str, pa.DataType] = {}
    for file in files:
        with open_parquet(file.path) as opened:
            schema = opened.schema_arrow
        for name in columns.read:
            if schema.names.count(name) != 1:
                raise ValueError(f"{file.path}: {schema.names.count(name)} columns {name!r}, expected one; there are "
                                 f"{schema.names}")
            kind = schema.field(name).type
            if first.setdefault(name, kind) != kind:
                raise ValueError(f"{file.path}: column {name!r} is {kind}, expected {first[name]}, as in {files[0].path}")
    return [pa.field(name, first[name]) for name in columns.keep]


def read_parquet(split: Split, columns: Columns) -> collections.abc.Iterator[Rows]:
    with open_parquet(split.file.path) as opened:
        groups = range(split.first_group, split.end_group)
        metas = [opened.metadata.row_group(i) for i in groups]
        size, count = sum(one.total_byte_size for one in metas), sum(one.num_rows for one in metas)
        place = sum(opened.metadata.row_group(i).num_rows for i in range(split.first_group))
        batches = opened.iter_batches(max(1, min(BATCH_ROWS, BATCH_BYTES * count // max(size, 1))), row_groups=list(groups),
                                      columns=columns.read)
        try:
            for batch in batches:
                low, high = max(split.begin - place, 0), min(split.end - place, len(batch))
                if low < high:
                    yield _rows(batch.slice(low, high - low), place + low, columns)
                place += len(batch)
                if place >= split.end:
                    break
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"{split.file.path}: {error}, in rows from {place} on") from error


def _rows(batch: pa.RecordBatch, place: int, columns: Columns) -> Rows:
    return Rows(pa.array(range(place, place + len(batch)), pa.int64()), [batch.column(name) for name in columns.keep],
                batch.column(columns.text), None if columns.pair is None else batch.column(columns.pair),
                pa.nulls(len(batch), pa.string()))
