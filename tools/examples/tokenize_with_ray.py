#!/usr/bin/env python3
"""Token ids of Parquet files' `text` in a Ray pipeline (python3 -m pip install './python[ray]').

  tools/examples/tokenize_with_ray.py models/multilingual-e5-small texts/ ids/

Of its own it would do more: filter rows, join others. Files to files alone is `python -m trellis.ray tokenize`, which goes on
where it was when it is run again.
"""
import sys

import ray

import trellis.ray

WORKERS = 1  # on each of whose machines the model is loaded once; reading needs processors, too


def main():
    if len(sys.argv) != 4:
        sys.exit("tokenize_with_ray MODEL INPUT OUTPUT")
    model, source, output = sys.argv[1:]
    rows = ray.data.read_parquet(source)
    rows = rows.map_batches(trellis.ray.Tokenize, fn_constructor_kwargs={"model": model, "column": "text", "max_length": 512},
                            batch_format="pyarrow", compute=ray.data.ActorPoolStrategy(size=WORKERS))
    rows.write_parquet(output)


if __name__ == "__main__":
    main()
