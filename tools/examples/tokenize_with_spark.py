#!/usr/bin/env python3
"""Token ids of Parquet files' `text` in a Spark query (python3 -m pip install './python[spark]'; Java).

  PYSPARK_PYTHON=$(which python3) tools/examples/tokenize_with_spark.py models/multilingual-e5-small texts/ ids/

Files to files alone is `python -m trellis.spark tokenize`, which goes on where it was when it is run again.
"""
import sys

from pyspark.sql import SparkSession

import trellis.spark


def main():
    if len(sys.argv) != 4:
        sys.exit("tokenize_with_spark MODEL INPUT OUTPUT")
    model, source, output = sys.argv[1:]
    with SparkSession.builder.appName("tokenize_with_spark").getOrCreate() as spark:
        rows = trellis.spark.tokenize(spark.read.parquet(source), model, column="text", max_length=512)
        # error says why a row has no ids.
        rows.write.parquet(output)


if __name__ == "__main__":
    main()
