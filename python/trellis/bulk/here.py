"""The engine that needs none: a job's parts one after the other in this process, which fills its cores with threads."""
from __future__ import annotations

from trellis.bulk import job


def tokenize(input, output, *, model, threads: int = 0, **options) -> job.Report:
    """Files to a folder of Parquet. Run again after it was ended, it goes on where it was.

    input: a file, a folder, a pattern, or a list of them. output: the folder. column, pair, keep: of the input. format: of its
    files, "parquet" or "jsonl", where their names do not say. part_bytes: of input, about, for a part.
    Other options as Tokenize has them.
    """
    return job.run("tokenize", input, output, _all_here, model=model, threads=threads, **options)


def embed(input, output, *, threads: int = 0, **options) -> job.Report:
    """As tokenize, for vectors: model or gateway, and the options of Embed."""
    return job.run("embed", input, output, _all_here, threads=threads, **options)


def _all_here(work: job.Job, indices: list[int]) -> None:
    for index in indices:
        job.write_part(work, index)
