"""Unigram tokenization exactly as tokenizers and SentencePiece do it. Tokenizer is where to begin."""
from typing import TYPE_CHECKING

from trellis._native import (AddedToken, DecodeStream, Encoding, Padding, Sampler, Segmentation, TokenLists, Tokenizer,
                             Truncation, UnsupportedError, __version__)

if TYPE_CHECKING:
    from trellis.embedder import Embedder as Embedder

__all__ = ["AddedToken", "DecodeStream", "Encoding", "Padding", "Sampler", "Segmentation", "TokenLists", "Tokenizer",
           "Truncation", "UnsupportedError", "__version__"]


def __getattr__(name):
    # Not before it is wanted: it brings oneDNN and numpy, which not everyone has.
    if name == "Embedder":
        from trellis.embedder import Embedder
        return Embedder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
