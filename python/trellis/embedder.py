"""Embeddings and rerank scores on this machine's processor, without torch: Embedder."""
from __future__ import annotations

import collections.abc
import importlib.util
import json
import os
import pathlib
from typing import Any

import numpy

if importlib.util.find_spec("trellis._engine") is None:
    raise ImportError("trellis.Embedder is not in this build of trellis: expected oneDNN's development package (libdnnl-dev, or "
                      "tools/install_packages python) where it is built", name="trellis._engine")
from trellis import _engine

__all__ = ["Embedder"]


def _unit(vectors: numpy.ndarray) -> numpy.ndarray:
    return vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


_SIMILARITIES = {
    "cosine": lambda a, b: _unit(a) @ _unit(b).T,
    "dot": lambda a, b: a @ b.T,
    "euclidean": lambda a, b: numpy.stack([-numpy.linalg.norm(b - row, axis=1) for row in a]),
    "manhattan": lambda a, b: numpy.stack([-numpy.abs(b - row).sum(axis=1) for row in a]),
}


class Embedder:
    """A model's folder, as transformers and sentence-transformers save it: of a model that embeds, or of a reranker.

    model: the folder, or "FOLDER,dtype=int8,threads=2".
    dtype: what to compute with: "f32" is exact, "bf16" and "int8" are faster; "auto", the default: the fastest that keeps
    rankings on this processor.
    threads: 0, the default: one for each core that the process may use.
    similarity_fn_name: "cosine", "dot", "euclidean" or "manhattan"; None: the folder's, else cosine.

    Any number of threads may call; one computes at a time, by turns. A process that a fork makes opens the folder again at
    its first call, and so does one that an Embedder is pickled to.
    """

    def __init__(self, model: str | os.PathLike, *, dtype: str | None = None, threads: int | None = None,
                 similarity_fn_name: str | None = None):
        folder, dtype_said, threads_said = os.fspath(model), "auto", 0
        if isinstance(model, str) and "," in model and not os.path.isdir(model):
            folder, dtype_said, threads_said = _engine.parse_options(model)
        self._folder = os.path.abspath(folder)
        self._dtype = dtype_said if dtype is None else dtype
        self._threads = threads_said if threads is None else threads
        self._model = _engine.Model(self._folder, self._dtype, self._threads)
        config = pathlib.Path(self._folder, "config_sentence_transformers.json")
        told = json.loads(config.read_text(encoding="utf-8")) if config.exists() else {}  # the engine has seen that it is JSON
        self.similarity_fn_name: str = similarity_fn_name or told.get("similarity_fn_name") or "cosine"
        if not isinstance(self.similarity_fn_name, str) or self.similarity_fn_name not in _SIMILARITIES:
            raise ValueError(f"{self._folder}: similarity_fn_name: {self.similarity_fn_name!r}, expected one of "
                             f"{', '.join(_SIMILARITIES)}")
        self.truncate_dim: int | None = told.get("truncate_dim")
        if self.truncate_dim is not None and (type(self.truncate_dim) is not int or self.truncate_dim < 1):
            raise ValueError(f"{config}: truncate_dim: {self.truncate_dim!r}, expected a number from 1 on")

    def __reduce__(self):
        return _open, (self._folder, self._dtype, self._threads, self.similarity_fn_name, self.truncate_dim)

    def __repr__(self) -> str:
        return f"Embedder({self._folder!r}, dtype={self._dtype!r}, threads={self._threads})"

    # --- the model ---

    @property
    def dimensions(self) -> int:
        """Of the model's vectors; 0: it does not embed."""
        return self._model.dimensions

    def get_sentence_embedding_dimension(self) -> int:
        """Of what encode gives, unless it is asked for less."""
        return self.truncate_dim or self.dimensions

    @property
    def max_seq_length(self) -> int:
        """The most tokens of a text, special ones and prompt included. What is longer is cut there."""
        return self._model.max_tokens

    @property
    def prompts(self) -> dict[str, str]:
        """By name: the folder's; "query" and "document" are empty where it has none, as in sentence-transformers."""
        return {"query": "", "document": ""} | self._model.prompts

    @property
    def default_prompt_name(self) -> str | None:
        return self._model.default_prompt_name or None

    # --- embedding ---

    def encode(self, sentences: str | bytes | collections.abc.Iterable[str | bytes], prompt_name: str | None = None,
               prompt: str | None = None, batch_size: int | None = None, show_progress_bar: bool | None = None, *,
               convert_to_numpy: bool = True, convert_to_tensor: bool = False, normalize_embeddings: bool = False,
               truncate_dim: int | None = None, pooling: str = "model", max_length: int | None = None) -> Any:
        """Vectors, float32 [texts, dimensions]; of one text a vector.

        prompt: put in front of each text as it stands. prompt_name: the folder's prompt of that name. Without either: the
        folder's default, if it names one.
        batch_size: how many texts the engine gets at a time; None: as many as it takes best. The vectors are the same.
        show_progress_bar: with tqdm.
        convert_to_numpy: False: a list of vectors. convert_to_tensor: a torch tensor.
        normalize_embeddings: to length 1, also where the model does not do it.
        truncate_dim: the first so many numbers only; normalized then, if it is asked for.
        pooling: "mean", "cls" or "last" in place of the model's own.
        max_length: cut texts to so many tokens, if the model allows as many.
        """
        text = self._prompt(prompt_name, prompt)
        single = isinstance(sentences, (str, bytes))
        texts = [sentences] if single else _list(sentences, "sentences")
        with _Progress(show_progress_bar, len(texts)) as progress:
            vectors = self._model.embed(texts, prompt=text, pooling=pooling, normalize=normalize_embeddings,
                                        dimensions=self.truncate_dim if truncate_dim is None else truncate_dim,
                                        max_length=max_length, batch_size=batch_size, progress=progress)
        result: Any = vectors
        if convert_to_tensor:
            import torch
            result = torch.from_numpy(vectors)
        elif not convert_to_numpy:
            result = list(vectors)
        return result[0] if single else result

    def encode_query(self, sentences, prompt_name: str | None = None, prompt: str | None = None, *args, **options) -> Any:
        """encode, with the prompt "query" unless another is asked for."""
        return self.encode(sentences, "query" if prompt_name is None else prompt_name, prompt, *args, **options)

    def encode_document(self, sentences, prompt_name: str | None = None, prompt: str | None = None, *args, **options) -> Any:
        """encode, with the prompt "document" unless another is asked for: "passage" is asked for by name."""
        return self.encode(sentences, "document" if prompt_name is None else prompt_name, prompt, *args, **options)

    def similarity(self, embeddings1, embeddings2) -> numpy.ndarray:
        """How alike each of the one is to each of the other, float32; distances are negative."""
        one, other = (_matrix(each, name) for each, name in ((embeddings1, "embeddings1"), (embeddings2, "embeddings2")))
        if not len(one) or not len(other):
            return numpy.zeros((len(one), len(other)), dtype=numpy.float32)
        if one.shape[1] != other.shape[1]:
            raise ValueError(f"embeddings2: {other.shape[1]} dimensions, expected {one.shape[1]}, as embeddings1 has")
        return _SIMILARITIES[self.similarity_fn_name](one, other)

    # --- reranking ---

    def predict(self, pairs: collections.abc.Iterable[tuple[str, str]], *, batch_size: int | None = None,
                show_progress_bar: bool | None = None, raw_scores: bool = False,
                max_length: int | None = None) -> numpy.ndarray:
        """A reranker's score of each (query, document), float32: the sigmoid of the model's number, or that number itself.

        What is too long is cut, the longer text first.
        """
        if self._model.labels != 1:
            raise ValueError(f"{self._folder}: a model with {self._model.labels} labels, expected a reranker, which has one")
        pairs = _list(pairs, "pairs")
        with _Progress(show_progress_bar, len(pairs)) as progress:
            logits = self._model.logits(pairs, max_length=max_length, batch_size=batch_size, progress=progress)[:, 0]
        return logits if raw_scores else (1 / (1 + numpy.exp(-logits.astype(numpy.float64)))).astype(numpy.float32)

    def rank(self, query: str | bytes, documents: collections.abc.Iterable[str | bytes], top_k: int | None = None,
             return_documents: bool = False, **options) -> list[dict[str, Any]]:
        """The documents, the one that answers best first: {"corpus_id", "score"}, with "text" where it is asked for.

        options: predict's.
        """
        if top_k is not None and top_k < 0:
            raise ValueError(f"top_k: {top_k}, expected a number from 0 on, or None for all")
        documents = _list(documents, "documents")
        scores = self.predict([(query, document) for document in documents], **options)
        order = numpy.argsort(-scores, kind="stable")[:top_k]
        return [{"corpus_id": int(i), "score": float(scores[i])} | ({"text": documents[i]} if return_documents else {})
                for i in order]

    # --- prompts ---

    def _prompt(self, name: str | None, prompt: str | None) -> str:
        if prompt is not None:
            return prompt
        name = self.default_prompt_name if name is None else name
        if name is None:
            return ""
        if name not in self.prompts:
            raise ValueError(f"prompt_name: {name!r}, expected one of {sorted(self.prompts)}")
        return self.prompts[name]


def _open(folder: str, dtype: str, threads: int, similarity_fn_name: str, truncate_dim: int | None) -> Embedder:
    embedder = Embedder(pathlib.Path(folder), dtype=dtype, threads=threads, similarity_fn_name=similarity_fn_name)
    embedder.truncate_dim = truncate_dim
    return embedder


def _matrix(vectors, name: str) -> numpy.ndarray:
    """A vector is a matrix of one row; no vectors are none of any length."""
    array = numpy.asarray([] if vectors is None else vectors, dtype=numpy.float32)
    if vectors is None or array.ndim > 2:
        raise ValueError(f"{name}: {'None' if vectors is None else f'{array.ndim} axes'}, expected a vector or a list of them")
    return array.reshape(0, 0) if array.size == 0 else numpy.atleast_2d(array)


def _list(texts, name: str) -> list:
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"{name}: one {type(texts).__name__}, expected a list")
    return list(texts)


class _Progress:
    """tqdm's, or none."""

    def __init__(self, wanted: bool | None, count: int):
        self._bar = None
        if wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError as error:
                raise ImportError("show_progress_bar: expected tqdm to be installed", name="tqdm") from error
            self._bar = tqdm(total=count, desc="Texts", unit=" texts")

    def __enter__(self):
        return None if self._bar is None else self._bar.update

    def __exit__(self, *error) -> None:
        if self._bar is not None:
            self._bar.close()
