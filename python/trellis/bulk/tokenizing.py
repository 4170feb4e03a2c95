"""Tokenize: a column of texts to ids, or to how many there are."""
from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.compute as pc

from trellis._native import Tokenizer
from trellis.bulk import columns, texts

IDS, COUNT = "ids", "count"
MOST_TOKENS = 2**31 - 1
FIELDS = {IDS: pa.field(IDS, pa.list_(pa.int32())), COUNT: pa.field(COUNT, pa.int32())}


class Tokenize:
    """Called with an Arrow table: the table with `ids` (list<int32>) or `count` (int32), and with `error`: why a row has none.

    result: "ids" or "count". model: a tokenizer's file, or a folder that holds one. pair: a column of second texts.
    malformed: "error", or "replace": what is no UTF-8 counts as U+FFFD. threads: 0: all that the process may run on.
    Other options as trellis.Tokenizer.encode has them. Made once a worker; loads the model then.
    """

    def __init__(self, model: str | os.PathLike, *, column: str = "text", pair: str | None = None, result: str = IDS,
                 add_special_tokens: bool = True, max_length: int | None = None, truncation: str = "longest_first",
                 truncation_side: str = "right", match_special_tokens: bool = True, malformed: str = "error",
                 threads: int = 1):
        if result not in FIELDS:
            raise ValueError(f"result: {result!r}, expected one of {list(FIELDS)}")
        self.column, self.pair, self.field = column, pair, FIELDS[result]
        self._malformed = texts.check_malformed(malformed)
        texts.check_count("max_length", max_length, 0, MOST_TOKENS)
        texts.check_count("threads", threads, 0, texts.MOST_THREADS)
        self._options = {"add_special_tokens": add_special_tokens, "max_length": max_length, "truncation": truncation,
                         "truncation_side": truncation_side, "match_special_tokens": match_special_tokens}
        self._threads = threads
        self._tokenizer = Tokenizer.from_file(model)
        # An option that is wrong is wrong of every text, and no row's fault.
        self._tokenizer.encode("a", None if pair is None else "b", **self._options)

    def __call__(self, table: pa.Table) -> pa.Table:
        computed = self.compute(columns.column(table, self.column),
                                None if self.pair is None else columns.column(table, self.pair))
        return columns.with_columns(table, [(self.field, computed.values), (columns.ERROR, computed.errors)])

    def compute(self, column: pa.ChunkedArray | pa.Array, pair: pa.ChunkedArray | pa.Array | None = None) -> columns.Computed:
        """Of each row; a row without a text, or without its second one, is null."""
        text, errors = texts.usable(column, self.column, self._malformed)
        if pair is not None:
            second, second_errors = texts.usable(pair, self.pair or "pair", self._malformed)
            errors = columns.both(errors, second_errors)
            ids, said = self._rows([(a, b) if a is not None and b is not None else None
                                    for a, b in zip(text.to_pylist(), second.to_pylist())])
        else:
            ids, said = self._column(text)
        if said:
            errors = columns.both(errors, columns.reasons(len(errors), said))
        counts = pc.list_value_length(ids)
        return columns.Computed(ids if self.field.name == IDS else counts, errors, pc.sum(counts).as_py() or 0)

    def _column(self, text: pa.ChunkedArray | pa.Array) -> tuple[pa.Array | pa.ChunkedArray, dict[int, str]]:
        """Chunk by chunk, without a copy of a text or an id."""
        chunks = text.chunks if isinstance(text, pa.ChunkedArray) else [text]
        try:
            lists = [pa.array(self._tokenizer.encode_arrow(chunk, threads=self._threads, **self._options)) for chunk in chunks]
        except (ValueError, OverflowError):  # a row of them, which is found one by one
            return self._rows(text.to_pylist())
        # Those of large strings are large lists.
        lists = [one if one.type == FIELDS[IDS].type else one.cast(FIELDS[IDS].type) for one in lists]
        return pa.chunked_array(lists, FIELDS[IDS].type), {}

    def _rows(self, inputs: list) -> tuple[pa.Array, dict[int, str]]:
        present = [row for row, one in enumerate(inputs) if one is not None]
        try:
            ids, cu_seqlens = self._tokenizer.encode_ids([inputs[row] for row in present], threads=self._threads, **self._options)
        except (ValueError, OverflowError):
            return self._one_by_one(inputs)
        lengths = dict(zip(present, (cu_seqlens[1:] - cu_seqlens[:-1]).tolist()))
        offsets, end = [], 0
        for row in range(len(inputs)):  # a list begins with null where its row is none
            offsets.append(end if row in lengths else None)
            end += lengths.get(row, 0)
        return pa.ListArray.from_arrays(pa.array(offsets + [end], pa.int32()), pa.array(ids, pa.int32())), {}

    def _one_by_one(self, inputs: list) -> tuple[pa.Array, dict[int, str]]:
        rows, said = [], {}
        for row, one in enumerate(inputs):
            try:
                text, pair = one if isinstance(one, tuple) else (one, None)
                rows.append(None if one is None else self._tokenizer.encode(text, pair, **self._options).ids)
            except (ValueError, OverflowError) as error:
                rows.append(None)
                said[row] = str(error)
        return pa.array(rows, FIELDS[IDS].type), said
