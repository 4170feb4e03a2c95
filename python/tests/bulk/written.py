"""Input files for the tests beside this file, and the rows of a job's output."""
import json

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

from reference_cases import GOLDEN, cases

# As the reference encodes them without special tokens.
SINGLE = [case for case in cases(GOLDEN / "xlmr.jsonl")
          if case.asks_encoding and case.options in ({}, {"add_special_tokens": False}) and "text" in case.row
          and len(case.texts) == 1]
PAIRS = [case for case in cases(GOLDEN / "xlmr.jsonl")
         if case.asks_encoding and case.options == {"add_special_tokens": True} and len(case.texts) == 2]


def write_parquet(path, columns, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return path


def write_lines(path, lines):
    """Bytes as they are; anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines))
    return path


def table_of(folder):
    """As others read such a folder: what begins with "." or "_" is no data."""
    return pyarrow.dataset.dataset(folder, format="parquet").to_table()


def rows_of(folder):
    return sorted(table_of(folder).to_pylist(), key=lambda row: (row["source_file"], row["source_row"]))
