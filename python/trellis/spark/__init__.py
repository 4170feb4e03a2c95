"""Bulk work on Spark: of a DataFrame, or files to files in one call.

    import trellis.spark
    df = trellis.spark.tokenize(spark.read.parquet("texts/"), "models/multilingual-e5-small", column="text")

    print(trellis.spark.tokenize_files("texts/", "ids/", model="models/multilingual-e5-small", keep=["id"]))

Needs pyspark.
"""
from trellis.bulk import Embed, GatewayError, JobError, Report, Tokenize
from trellis.spark.frames import embed, tokenize, tokenizer_udf
from trellis.spark.jobs import embed_files, tokenize_files

__all__ = ["Embed", "GatewayError", "JobError", "Report", "Tokenize", "embed", "embed_files", "tokenize", "tokenize_files",
           "tokenizer_udf"]
