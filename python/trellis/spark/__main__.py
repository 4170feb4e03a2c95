import argparse
import functools
import os
import sys

from pyspark.sql import SparkSession

from trellis.bulk import command
from trellis.spark import jobs


def on_master(call):
    """With the session that --master asks for."""
    @functools.wraps(call)
    def run(input, output, master=None, **options):
        builder = SparkSession.builder.appName("trellis")
        if master is not None:
            if master.startswith("local"):
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else whichever python3 is the first on PATH
            builder = builder.master(master)
        with builder.getOrCreate() as spark:
            return call(input, output, spark=spark, **options)
    return run


def master_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", metavar="MASTER", help='Spark\'s, as "local[2,4]": two at a time, each tried four times')


sys.exit(command.run("python -m trellis.spark", "Bulk work on Spark; with spark-submit, or on the master that --master names.",
                     {"tokenize": on_master(jobs.tokenize_files), "embed": on_master(jobs.embed_files)}, master_option))
