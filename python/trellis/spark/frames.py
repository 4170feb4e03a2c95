"""A DataFrame with more columns, lazily, as Spark's own functions give it; the model is loaded once a Python worker."""
from __future__ import annotations

import collections.abc
import os
import typing

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, FloatType, IntegerType, StringType, StructField, StructType

from trellis.bulk import job, tokenizing

RESULTS = {tokenizing.IDS: ArrayType(IntegerType()), tokenizing.COUNT: IntegerType(), "vector": ArrayType(FloatType())}


def tokenize(df: DataFrame, model: str | os.PathLike, *, column: str = "text", result: str = tokenizing.IDS,
             **options: typing.Any) -> DataFrame:
    """The DataFrame with `ids` (array<int>) or `count` (int), and with `error`: why a row has none; options as Tokenize has them.

    Every machine sees the model under this path.
    """
    if result not in tokenizing.FIELDS:
        raise ValueError(f"result: {result!r}, expected one of {list(tokenizing.FIELDS)}")
    return _with(df, "tokenize", result, {"model": os.path.abspath(model), "column": column, "result": result, **options})


def tokenizer_udf(model: str | os.PathLike, *, result: str = tokenizing.IDS, **options: typing.Any):
    """A function of one column, for select, withColumn and SQL (spark.udf.register): null where a row has no text; options as
    Tokenize has them."""
    if result not in tokenizing.FIELDS:
        raise ValueError(f"result: {result!r}, expected one of {list(tokenizing.FIELDS)}")
    from pyspark.sql.functions import arrow_udf  # since Spark 4.1
    options = {"model": os.path.abspath(model), "result": result, **options}

    @arrow_udf(RESULTS[result])
    def tokenize_column(texts: pa.Array) -> pa.Array:
        values = job.operation("tokenize", options).compute(texts).values
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values

    return tokenize_column


def embed(df: DataFrame, model: str | os.PathLike | None = None, *, column: str = "text", **options: typing.Any) -> DataFrame:
    """The DataFrame with `vector` (array<float>), and with `error`; options as Embed has them, `gateway` among them."""
    folder = None if model is None else os.path.abspath(model)
    return _with(df, "embed", "vector", {"model": folder, "column": column, **options})


def _with(df: DataFrame, task: str, result: str, options: dict[str, typing.Any]) -> DataFrame:
    for name in (options["column"], options.get("pair")):
        if name is not None and name not in df.columns:
            raise ValueError(f"column: {name!r}, expected one of {df.columns}")
    for name in (result, "error"):
        if name in df.columns:
            raise ValueError(f"column {name!r} is there already, expected another name: rename or drop it first")

    def add(batches: collections.abc.Iterator[pa.RecordBatch]) -> collections.abc.Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from job.operation(task, options)(pa.Table.from_batches([batch])).to_batches()

    return df.mapInArrow(add, StructType([*df.schema.fields, StructField(result, RESULTS[result]),
                                          StructField("error", StringType())]))
