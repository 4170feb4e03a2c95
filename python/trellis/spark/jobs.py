"""Files to files: each split of the input is a partition of one row, whose task writes the split's part."""
from __future__ import annotations

import collections.abc

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from trellis.bulk import job


def tokenize_files(input, output, *, model, spark: SparkSession | None = None, threads: int = 1, **options) -> job.Report:
    """Files to a folder of Parquet. Run again after it was ended, it goes on where it was.

    spark: None: the session that there is, or a new one. All machines see input, output and model under the same paths. Spark
    gives a split to another worker as often as spark.task.maxFailures says (master "local[N]": never, "local[N,4]": thrice).
    threads: of a task; as many as spark.task.cpus. Other options as trellis.bulk.tokenize has them.
    """
    return job.run("tokenize", input, output, _Engine(spark), model=model, threads=threads, **options)


def embed_files(input, output, *, spark: SparkSession | None = None, threads: int = 1, **options) -> job.Report:
    """As tokenize_files, for vectors: model or gateway, and the options of Embed."""
    return job.run("embed", input, output, _Engine(spark), threads=threads, **options)


class _Engine:
    def __init__(self, spark: SparkSession | None):
        self._spark = spark

    def __call__(self, work: job.Job, indices: list[int]) -> None:
        job.forget_operation()
        spark = self._spark or SparkSession.builder.appName("trellis").getOrCreate()

        def write(batches: collections.abc.Iterator[pa.RecordBatch]) -> collections.abc.Iterator[pa.RecordBatch]:
            for batch in batches:
                for place in batch.column(0).to_pylist():
                    job.write_part(work, indices[place])
                yield batch

        # A partition a split: what a dead worker had is asked of another one, and no more than that.
        try:
            spark.range(0, len(indices), 1, len(indices)).mapInArrow(write, "id long").collect()
        except (PySparkException, Py4JJavaError) as error:
            raise job.JobError.of(str(error)) from error
