"""Embed: a column of texts to vectors, computed in this process or by a gateway."""
from __future__ import annotations

import os

import numpy
import pyarrow as pa

from trellis.bulk import columns, texts
from trellis.bulk.gateway import Gateway
from trellis.bulk.vectors import GatewayVectors

VECTOR = pa.field("vector", pa.list_(pa.float32()))
ROWS = 256  # in one call of the Embedder


class Embed:
    """Called with an Arrow table: the table with `vector` (list<float>), and with `error`: why a row has none.

    model: a folder, computed in this process by trellis.Embedder (dtype, threads as it has them); or
    gateway: a running trellis-gateway's URL, with `concurrency` requests at a time, of `request_texts` texts and about
    `request_tokens` tokens at most, else what the gateway asks for; api_key, headers, timeout and patience (seconds of one try,
    and for which a request is tried again). A row that the gateway refuses is null; one that nobody answers ends the job.
    prompt, prompt_name, normalize, dimensions: as Embedder.encode has them. malformed: as Tokenize has it.
    """

    def __init__(self, model: str | os.PathLike | None = None, *, gateway: str | None = None, column: str = "text",
                 prompt: str | None = None, prompt_name: str | None = None, normalize: bool | None = None,
                 dimensions: int | None = None, malformed: str = "error", dtype: str = "auto", threads: int = 1,
                 concurrency: int = 8, request_texts: int | None = None, request_tokens: int | None = None,
                 api_key: str | None = None, headers: dict[str, str] | None = None, timeout: float = 120, patience: float = 300):
        if (model is None) == (gateway is None):
            raise ValueError("model, gateway: expected one of them: what computes")
        self.column, self.pair, self.field = column, None, VECTOR
        self._malformed = texts.check_malformed(malformed)
        for name, value in (("concurrency", concurrency), ("request_texts", request_texts), ("request_tokens", request_tokens)):
            texts.check_count(name, value, 1, 2**31 - 1)
        if not timeout > 0 or not patience >= 0:
            raise ValueError(f"timeout, patience: {timeout!r}, {patience!r}, expected seconds, of a try more than 0")
        self._remote: GatewayVectors | None = None
        if gateway is not None:
            options = {"prompt": prompt, "prompt_name": prompt_name, "normalize": normalize, "dimensions": dimensions}
            self._remote = GatewayVectors(Gateway(gateway, api_key=api_key, headers=headers, timeout=timeout, patience=patience),
                                          {name: value for name, value in options.items() if value is not None},
                                          concurrency=concurrency, texts=request_texts, tokens=request_tokens)
            return
        from trellis import Embedder  # not in every build
        self._embedder = Embedder(model, dtype=dtype, threads=threads)
        self._options = {"prompt": prompt, "prompt_name": prompt_name, "normalize_embeddings": bool(normalize),
                         "truncate_dim": dimensions}
        self._embedder.encode(["a"], **self._options)  # an option that is wrong is no row's fault

    @property
    def served_model(self) -> str | None:
        """What the gateway calls it."""
        return None if self._remote is None else self._remote.model

    @property
    def served_dimensions(self) -> int | None:
        return None if self._remote is None else self._remote.dimensions

    def __call__(self, table: pa.Table) -> pa.Table:
        computed = self.compute(columns.column(table, self.column))
        return columns.with_columns(table, [(self.field, computed.values), (columns.ERROR, computed.errors)])

    def compute(self, column: pa.ChunkedArray | pa.Array, pair: None = None) -> columns.Computed:
        text, errors = texts.usable(column, self.column, self._malformed)
        rows = text.to_pylist()
        present = [row for row, one in enumerate(rows) if one is not None]
        given = [rows[row] for row in present]
        vectors, said, tokens = self._remote.embed(given) if self._remote is not None else self._here(given)
        if said:
            errors = columns.both(errors, columns.reasons(len(rows), {present[place]: why for place, why in said.items()}))
        return columns.Computed(_lists(len(rows), present, vectors), errors, tokens)

    def _here(self, given: list[str]) -> tuple[list[numpy.ndarray | None], dict[int, str], None]:
        vectors: list[numpy.ndarray | None] = []
        errors: dict[int, str] = {}
        for begin in range(0, len(given), ROWS):
            some = given[begin:begin + ROWS]
            try:
                vectors += list(self._embedder.encode(some, **self._options))
            except (ValueError, RuntimeError):  # a row of them, which is found one by one
                for place, one in enumerate(some, begin):
                    try:
                        vectors.append(self._embedder.encode([one], **self._options)[0])
                    except (ValueError, RuntimeError) as error:
                        self._embedder.encode(["a"], **self._options)  # or it is the row that is to blame
                        vectors.append(None)
                        errors[place] = str(error)
        return vectors, errors, None


def _lists(rows: int, present: list[int], vectors: list[numpy.ndarray | None]) -> pa.Array:
    given = {row: vector for row, vector in zip(present, vectors) if vector is not None}
    offsets, end = [], 0
    for row in range(rows):
        offsets.append(end if row in given else None)
        end += len(given[row]) if row in given else 0
    values = numpy.concatenate(list(given.values())) if given else numpy.zeros(0, numpy.float32)
    return pa.ListArray.from_arrays(pa.array(offsets + [end], pa.int32()), pa.array(values, pa.float32()))
