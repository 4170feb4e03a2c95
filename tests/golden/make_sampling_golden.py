#!/usr/bin/env python3
"""Writes sp_sampling.jsonl: n-best and samples of the small models in sp_models, by the reference's wheel.

  pip install sentencepiece==0.2.3   # n-best: what the rest of the dialect follows
  tests/golden/make_sampling_golden.py > tests/golden/sp_sampling.jsonl
  pip install sentencepiece==0.2.1   # samples: the last one whose generator is the standard library's
  tests/golden/make_sampling_golden.py >> tests/golden/sp_sampling.jsonl

A generator belongs to a thread and is seeded when the thread first draws: each row of samples has a thread of its own.
"""
import json
import os
import random
import sys
import threading

import sentencepiece

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))
from sp_small_models import SENTENCES  # noqa: E402

# User-defined symbols have other scores in 0.2.1, and the last one it does not load.
NOT_SAMPLED = {"symbols", "nested_symbols", "symbols_rules", "bytes_without_unk"}
LEFT_OUT = {"malformed_pieces"}  # its texts are bytes
RANDOM = random.Random(17)


def row(**fields):
    print(json.dumps(fields, ensure_ascii=True, separators=(",", ":")))


def texts_of(processor):
    pieces = [processor.id_to_piece(i).replace("\u2581", " ") for i in range(processor.vocab_size())
              if not processor.is_control(i) and not processor.is_byte(i)]
    texts = ["", "a", " ", "\u2603\u2603 x", "aaaa abab", "abcabc cba"]
    texts += RANDOM.sample(SENTENCES, 3)
    texts += ["".join(RANDOM.choice(pieces) for _ in range(RANDOM.randint(2, 7))) for _ in range(4)]
    return texts


def in_new_thread(work):
    out = []
    thread = threading.Thread(target=lambda: out.append(work()))
    thread.start()
    thread.join()
    return out[0]


def main():
    version = sentencepiece.__version__
    assert version in ("0.2.1", "0.2.3"), version
    old = version == "0.2.1"
    row(about="n-best and samples", reference=f"sentencepiece {version}", written_by="tests/golden/make_sampling_golden.py")
    folder = os.path.join(HERE, "sp_models")
    seed = 0
    for name in sorted(os.listdir(folder)):
        stem = name.removesuffix(".model")
        if stem in LEFT_OUT or (old and stem in NOT_SAMPLED):
            continue
        processor = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, name))
        for text in texts_of(processor):
            for count in () if old else (1, 6, 30):
                row(kind="nbest", model=stem, text=text, count=count,
                    ids=processor.nbest_encode(text, nbest_size=count, out_type=int))
            for nbest_size, alpha in ((-1, 0.1), (-1, 1.0), (8, 0.5)) if old else ():
                seed += 1
                sentencepiece.set_random_generator_seed(seed)
                row(kind="sample", model=stem, text=text, seed=seed, nbest_size=nbest_size, alpha=alpha,
                    ids=in_new_thread(lambda: [
                        processor.encode(text, out_type=int, enable_sampling=True, nbest_size=nbest_size, alpha=alpha)
                        for _ in range(5)]))


if __name__ == "__main__":
    main()
