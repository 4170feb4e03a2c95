"""What an operation computes of texts, and how it stands beside the columns that there were."""
from __future__ import annotations

import collections.abc
import dataclasses

import pyarrow as pa
import pyarrow.compute as pc

ERROR = pa.field("error", pa.string())


@dataclasses.dataclass
class Computed:
    values: pa.Array | pa.ChunkedArray  # null where `errors` is not
    errors: pa.Array
    tokens: int | None  # None: not known


def both(first: pa.Array, second: pa.Array) -> pa.Array:
    """The first reason that a row has."""
    return pc.coalesce(first, second)


def reasons(rows: int, said: dict[int, str]) -> pa.Array:
    return pa.array([said.get(row) for row in range(rows)] if said else pa.nulls(rows, pa.string()), pa.string())


def with_columns(table: pa.Table, columns: collections.abc.Iterable[tuple[pa.Field, pa.Array | pa.ChunkedArray]]) -> pa.Table:
    for field, values in columns:
        if field.name in table.column_names:
            raise ValueError(f"column {field.name!r} is there already, expected another name: rename or drop it first")
        table = table.append_column(field, values)
    return table


def column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise ValueError(f"column: {name!r}, expected one of {table.column_names}")
    return table[name]
