"""What a split's reader gives, batch by batch: where each row is, what is kept of it, and its texts."""
from __future__ import annotations

import dataclasses

import pyarrow as pa

FILE, ROW = pa.field("source_file", pa.string()), pa.field("source_row", pa.int64())
BATCH_ROWS, BATCH_BYTES = 4096, 8 << 20


@dataclasses.dataclass(frozen=True)
class Columns:
    """text, pair: columns to work on. keep: those that the output has too; of JSON lines NAME:TYPE, string without a type."""
    text: str
    pair: str | None = None
    keep: tuple[str, ...] = ()

    @property
    def read(self) -> list[str]:
        return list(dict.fromkeys([*self.keep, self.text, *([self.pair] if self.pair is not None else [])]))


@dataclasses.dataclass
class Rows:
    places: pa.Array  # int64, of source_row
    kept: list[pa.Array]
    text: pa.Array
    pair: pa.Array | None
    errors: pa.Array  # what was wrong with the row itself, or null
