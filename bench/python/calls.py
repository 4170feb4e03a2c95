#!/usr/bin/env python3
"""One package's calls from Python, timed in a process of their own. Run by bench/python/compare.

  calls.py PACKAGE MODEL TEXTS.json [--threads N] [--ids]

TEXTS.json is {"warm": [...], "single": [...], "batch": [...]}, no text twice. Prints one JSON object: what each kind of call
took for a text, on texts that the process had never seen ("fresh") and on the same ones again ("repeated", the median of
three times). With --ids: the ids of all of "single" by single calls, then of all of "batch" in one.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import threading
import time

AGAIN = 3


class Package:
    """`one` text and `many` texts to ids, as lists of Python integers unless the name says numpy. None adds special
    tokens: not every package does."""

    def __init__(self, folder, threads):
        self.json, self.model = str(folder / "tokenizer.json"), str(folder / "sentencepiece.bpe.model")
        self.threads = threads

    def ids(self, result):
        """Of one text, as a list."""
        return list(result)


class Trellis(Package):
    def __init__(self, folder, threads):
        super().__init__(folder, threads)
        import trellis

        self.tokenizer = trellis.Tokenizer.from_file(self.json)

    def one(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def many(self, texts):
        batch = self.tokenizer.encode_batch(texts, threads=self.threads, add_special_tokens=False)
        return [encoding.ids for encoding in batch]


class TrellisNumpy(Trellis):
    def one(self, text):
        return self.tokenizer.encode_ids([text], threads=1, add_special_tokens=False)[0]

    def many(self, texts):
        ids, cu_seqlens = self.tokenizer.encode_ids(texts, threads=self.threads, add_special_tokens=False)
        return Rows(ids, cu_seqlens)

    def ids(self, result):
        return result.tolist()


class Rows:
    """Looks at rows of one array when it is asked to, as users do."""

    def __init__(self, ids, cu_seqlens):
        self.flat, self.cu_seqlens = ids, cu_seqlens

    def __iter__(self):
        return (self.flat[a:b] for a, b in zip(self.cu_seqlens, self.cu_seqlens[1:]))


class Tokenizers(Package):
    def __init__(self, folder, threads):
        super().__init__(folder, threads)
        import tokenizers

        self.tokenizer = tokenizers.Tokenizer.from_file(self.json)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def one(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def many(self, texts):
        return [encoding.ids for encoding in self.tokenizer.encode_batch(texts, add_special_tokens=False)]


class SentencePiece(Package):
    def __init__(self, folder, threads):
        super().__init__(folder, threads)
        import sentencepiece

        self.processor = sentencepiece.SentencePieceProcessor(model_file=self.model)

    def one(self, text):
        return self.processor.encode(text)

    def many(self, texts):
        return self.processor.encode(texts, num_threads=self.threads)

    def ids(self, result):
        # As XLM-RoBERTa numbers them: <unk>, <s> and </s> moved to the front, the rest one up.
        return [{0: 3, 1: 0, 2: 2}.get(i, i + 1) for i in result]


class Iree(Package):
    def __init__(self, folder, threads):
        super().__init__(folder, threads)
        import iree.tokenizer

        self.tokenizer = iree.tokenizer.Tokenizer.from_file(self.json)

    def one(self, text):
        return self.tokenizer.encode(text)

    def many(self, texts):
        return self.tokenizer.encode_batch(texts)


class Kitoken(Package):
    def __init__(self, folder, threads):
        super().__init__(folder, threads)
        import kitoken

        self.tokenizer = kitoken.Kitoken.from_tokenizers_file(self.json)

    def one(self, text):
        return self.tokenizer.encode(text, True)

    def many(self, texts):
        return self.tokenizer.encode_all(texts, True)


PACKAGES = {"tokenizers": Tokenizers, "trellis": Trellis, "trellis numpy": TrellisNumpy, "sentencepiece": SentencePiece,
            "iree-tokenizer": Iree, "kitoken": Kitoken}
# Those whose batches have no threads of their own.
ONE_THREAD = ("iree-tokenizer", "kitoken")


def in_threads(package, texts):
    """All texts by single calls, each thread its share of them; seconds."""
    def share(number):
        for text in texts[number::package.threads]:
            package.one(text)

    threads = [threading.Thread(target=share, args=(number,)) for number in range(package.threads)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


def timed(call, texts):
    begin = time.perf_counter()
    result = call(texts)
    spent = time.perf_counter() - begin
    del result
    return spent


def measure(package, texts):
    for text in texts["warm"]:
        package.one(text)
    package.many(texts["warm"])
    found = {}
    kinds = {"single": lambda some: in_threads(package, some), "batch": lambda some: timed(package.many, some)}
    for kind, call in kinds.items():
        fresh = call(texts[kind])
        again = statistics.median(call(texts[kind]) for _ in range(AGAIN))
        for state, seconds in (("fresh", fresh), ("repeated", again)):
            found[f"{kind} {state}"] = round(seconds / len(texts[kind]) * 1e6, 3)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ids", action="store_true")
    options = parser.parse_args()
    # tokenizers reads both when it first makes a batch.
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if options.threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    texts = json.loads(options.texts.read_text(encoding="utf-8"))
    package = PACKAGES[options.package](options.model, options.threads)
    if options.ids:
        results = [*map(package.one, texts["single"]), *package.many(texts["batch"])]
        json.dump([package.ids(result) for result in results], sys.stdout)
    else:
        json.dump(measure(package, texts), sys.stdout)


if __name__ == "__main__":
    main()
