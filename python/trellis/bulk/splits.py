"""Input files cut into splits, each of which becomes one part of the output: the same on every run."""
from __future__ import annotations

import dataclasses

from trellis.bulk.inputs import JSONL, InputFile


@dataclasses.dataclass(frozen=True)
class Split:
    """Of Parquet the rows [begin, end) of a file, which lie in row groups [first_group, end_group); of JSON lines those that
    begin in the bytes [begin, end)."""
    index: int
    file: InputFile
    begin: int
    end: int
    first_group: int = 0
    end_group: int = 0

    @property
    def part(self) -> str:
        return f"part-{self.index:06}.parquet"


def plan_splits(files: list[InputFile], part_bytes: int) -> list[Split]:
    if part_bytes < 1:
        raise ValueError(f"part_bytes: {part_bytes}, expected at least 1")
    ranges = [(file, *one) for file in files for one in (_lines if file.format == JSONL else _rows)(file, part_bytes)]
    return [Split(index, *one) for index, one in enumerate(ranges)]


def _lines(file: InputFile, part_bytes: int):
    if file.compressed:  # which is read from its beginning only
        return [(0, -1)]
    return [(begin, min(begin + part_bytes, file.size)) for begin in range(0, file.size, part_bytes)]


def _rows(file: InputFile, part_bytes: int):
    """Row groups are joined while they are small, and cut evenly where they are large: what is cut is read once a split."""
    from trellis.bulk.parquet_rows import open_parquet
    with open_parquet(file.path) as opened:
        groups = [opened.metadata.row_group(i) for i in range(opened.metadata.num_row_groups)]
    row, begin, first, size = 0, 0, 0, 0
    for i, group in enumerate(groups):
        if row > begin and size + group.total_byte_size > part_bytes:
            yield begin, row, first, i
            begin, first, size = row, i, 0
        row, size = row + group.num_rows, size + group.total_byte_size
        pieces = min(-(-group.total_byte_size // part_bytes), group.num_rows)
        if pieces > 1:
            cuts = [begin + group.num_rows * piece // pieces for piece in range(pieces + 1)]
            for low, high in zip(cuts, cuts[1:]):
                yield low, high, i, i + 1
            begin, first, size = row, i + 1, 0
    if row > begin:
        yield begin, row, first, len(groups)
