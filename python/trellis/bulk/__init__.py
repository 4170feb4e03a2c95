"""Bulk work on text in files: token ids, counts or vectors of Parquet and JSON lines, as Parquet. The part that knows no
engine: trellis.ray and trellis.spark put it to work on many cores and machines, and alone it runs in this process.

    from trellis import bulk
    print(bulk.tokenize("texts/", "ids/", model="models/multilingual-e5-small", column="text", keep=["id"]))

Needs pyarrow.
"""
from trellis.bulk.embedding import Embed
from trellis.bulk.gateway import GatewayError
from trellis.bulk.here import embed, tokenize
from trellis.bulk.job import JobError, Report
from trellis.bulk.tokenizing import Tokenize

__all__ = ["Embed", "GatewayError", "JobError", "Report", "Tokenize", "embed", "tokenize"]
