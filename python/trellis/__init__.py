"""Unigram tokenization exactly as tokenizers and SentencePiece do it. Tokenizer is where to begin."""
from trellis._native import (AddedToken, DecodeStream, Encoding, Padding, TokenLists, Tokenizer, Truncation, UnsupportedError,
                             __version__)

__all__ = ["AddedToken", "DecodeStream", "Encoding", "Padding", "TokenLists", "Tokenizer", "Truncation",
           "UnsupportedError", "__version__"]
