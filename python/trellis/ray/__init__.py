"""Bulk work on Ray: in a pipeline of your own, or files to files in one call.

    import ray, trellis.ray
    rows = ray.data.read_parquet("texts/").map_batches(trellis.ray.Tokenize, batch_format="pyarrow", concurrency=4,
                                                       fn_constructor_kwargs={"model": "models/multilingual-e5-small"})

    print(trellis.ray.tokenize("texts/", "ids/", model="models/multilingual-e5-small", keep=["id"]))

Tokenize and Embed are classes, so that Ray loads the model once a worker. Needs ray[data].
"""
from trellis.bulk import Embed, GatewayError, JobError, Report, Tokenize
from trellis.ray.jobs import embed, tokenize

__all__ = ["Embed", "GatewayError", "JobError", "Report", "Tokenize", "embed", "tokenize"]
