"""Files to files: each split of the input is a row that Ray hands to one of its actors, which writes the split's part."""
from __future__ import annotations

import pyarrow as pa
import ray
import ray.data
import ray.exceptions

from trellis.bulk import job


def tokenize(input, output, *, model, workers: int | None = None, threads: int = 1, **options) -> job.Report:
    """Files to a folder of Parquet. Run again after it was ended, it goes on where it was.

    workers: processes with `threads` threads each; None: as many as the cluster has processors for. All machines see input,
    output and model under the same paths. Other options as trellis.bulk.tokenize has them.
    """
    return job.run("tokenize", input, output, _Engine(workers, threads), model=model, threads=threads, **options)


def embed(input, output, *, workers: int | None = None, threads: int = 1, **options) -> job.Report:
    """As tokenize, for vectors: model or gateway, and the options of Embed."""
    return job.run("embed", input, output, _Engine(workers, threads), threads=threads, **options)


class WritePart:
    def __init__(self, work: job.Job):
        self._work = work
        job.operation(work.task, work.options)

    def __call__(self, table: pa.Table) -> pa.Table:
        for index in table["index"].to_pylist():
            job.write_part(self._work, index)
        return table


class _Engine:
    def __init__(self, workers: int | None, threads: int):
        if workers is not None and workers < 1:
            raise ValueError(f"workers: {workers}, expected at least 1")
        self._workers, self._threads = workers, threads

    def __call__(self, work: job.Job, indices: list[int]) -> None:
        job.forget_operation()
        if not ray.is_initialized():
            ray.init()
        processors = max(1, self._threads)
        workers = self._workers or max(1, int(ray.cluster_resources().get("CPU", 1)) // processors)
        workers = min(workers, len(indices))
        # A block a split: what a dead worker had is asked of another one, and no more than that.
        rows = ray.data.from_items([{"index": index} for index in indices], override_num_blocks=len(indices))
        done = rows.map_batches(WritePart, fn_constructor_args=(work,), batch_format="pyarrow", batch_size=1,
                                compute=ray.data.ActorPoolStrategy(size=workers), num_cpus=processors)
        done.context.enable_progress_bars = False  # ours counts rows
        try:
            for _ in done.iter_batches(batch_size=None):
                pass
        except ray.exceptions.RayError as error:
            raise job.JobError.of(str(error)) from error
