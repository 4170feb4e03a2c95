#!/usr/bin/env python3
"""Token ids of each line of stdin, through the Python package (python3 -m pip install ./python).

  echo "Hello, world!" | tools/examples/encode_lines.py models/multilingual-e5-small
"""
import itertools
import sys

import trellis

ROWS = 1000  # at a time: a batch is shared out to threads


def main():
    if len(sys.argv) != 2:
        sys.exit("encode_lines MODEL < texts")
    try:
        tokenizer = trellis.Tokenizer.from_file(sys.argv[1])
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    # Bytes as they are: what is no UTF-8 is input, too.
    lines = (line.removesuffix(b"\n") for line in sys.stdin.buffer)
    while rows := list(itertools.islice(lines, ROWS)):
        ids, cu_seqlens = tokenizer.encode_ids(rows)
        for begin, end in zip(cu_seqlens, cu_seqlens[1:]):
            print(*ids[begin:end])


if __name__ == "__main__":
    main()
