"""The part of Hugging Face's `tokenizers` that encodes and decodes, under its names, with its results.

    from trellis.tokenizers import Tokenizer      # instead of: from tokenizers import Tokenizer

What is there behaves as tokenizers 0.22.2 does; what is not there (training, changing the stages) is no attribute. A
folder takes the place of a name on the Hub: nothing is fetched.
"""
from __future__ import annotations

import collections.abc
import operator
import os

from trellis import _native
from trellis._native import AddedToken, Encoding

__all__ = ["AddedToken", "DecodeStream", "Encoding", "Tokenizer"]


class Tokenizer:
    """As tokenizers.Tokenizer: truncation and padding are its state, and are the file's to begin with."""

    def __init__(self, tokenizer: _native.Tokenizer):
        self._native = tokenizer
        self._truncation: dict | None = None
        self._padding: _native.Padding | None = tokenizer.padding
        self.encode_special_tokens = False
        if (truncation := tokenizer.truncation) is not None:
            self._truncation = {"max_length": truncation.max_length, "stride": truncation.stride,
                                "strategy": truncation.strategy, "direction": truncation.side}

    @staticmethod
    def from_file(path: str | os.PathLike) -> Tokenizer:
        return Tokenizer(_native.Tokenizer.from_file(path))

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        return Tokenizer(_native.Tokenizer.from_str(json))

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        return Tokenizer(_native.Tokenizer.from_bytes(buffer))

    @staticmethod
    def from_pretrained(identifier: str | os.PathLike) -> Tokenizer:
        """A folder; names on the Hub are not looked up."""
        return Tokenizer(_native.Tokenizer.from_pretrained(identifier))

    # --- truncation and padding ---

    def enable_truncation(self, max_length: int, stride: int = 0, strategy: str = "longest_first",
                          direction: str = "right") -> None:
        max_length, stride = _unsigned("max_length", max_length, 64), _unsigned("stride", stride, 64)
        _one_of("strategy", strategy, ("longest_first", "only_first", "only_second"))
        _one_of("direction", direction, ("left", "right"))
        room = max(0, max_length - self._native.num_special_tokens(False))
        if stride > room:
            raise ValueError(f"stride: {stride}, expected at most the {room} tokens that max_length leaves beside special ones")
        self._truncation = {"max_length": max_length, "stride": stride, "strategy": strategy, "direction": direction}

    def no_truncation(self) -> None:
        self._truncation = None

    @property
    def truncation(self) -> dict | None:
        return None if self._truncation is None else dict(self._truncation)

    def enable_padding(self, direction: str = "right", pad_id: int = 0, pad_type_id: int = 0, pad_token: str = "[PAD]",
                       length: int | None = None, pad_to_multiple_of: int | None = None) -> None:
        _one_of("direction", direction, ("left", "right"))
        for name, value in (("pad_id", pad_id), ("pad_type_id", pad_type_id)):
            _unsigned(name, value, 32)
        for name, count in (("length", length), ("pad_to_multiple_of", pad_to_multiple_of)):
            if count is not None:
                _unsigned(name, count, 64)
        self._padding = _native.Padding(length=length, multiple_of=pad_to_multiple_of or 0, side=direction, id=pad_id,
                                        type_id=pad_type_id, token=pad_token)

    def no_padding(self) -> None:
        self._padding = None

    @property
    def padding(self) -> dict | None:
        padding = self._padding
        if padding is None:
            return None
        return {"length": padding.length, "pad_to_multiple_of": padding.multiple_of or None, "pad_id": padding.id,
                "pad_token": padding.token, "pad_type_id": padding.type_id, "direction": padding.side}

    # --- encoding ---

    def _options(self, is_pretokenized: bool, add_special_tokens: bool) -> dict:
        options = {"add_special_tokens": add_special_tokens, "encode_special_tokens": self.encode_special_tokens,
                   "padding": self._padding, "is_pretokenized": is_pretokenized}
        if self._truncation is not None:
            options |= {"max_length": self._truncation["max_length"], "truncation": self._truncation["strategy"],
                        "truncation_side": self._truncation["direction"], "stride": self._truncation["stride"],
                        "overflow": True, "cut_nothing": True}
        return options

    def encode(self, sequence: str | list[str] | tuple[str, ...], pair: str | list[str] | tuple[str, ...] | None = None,
               is_pretokenized: bool = False, add_special_tokens: bool = True) -> Encoding:
        return self._native.encode(sequence, pair, **self._options(is_pretokenized, add_special_tokens))

    def encode_batch(self, input: collections.abc.Iterable, is_pretokenized: bool = False,
                     add_special_tokens: bool = True) -> list[Encoding]:
        return self._native.encode_batch(input, **self._options(is_pretokenized, add_special_tokens))

    def encode_batch_fast(self, input: collections.abc.Iterable, is_pretokenized: bool = False,
                          add_special_tokens: bool = True) -> list[Encoding]:
        """As encode_batch; offsets are there too."""
        return self.encode_batch(input, is_pretokenized, add_special_tokens)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        return self._native.num_special_tokens(is_pair)

    # --- decoding ---

    def decode(self, ids: collections.abc.Iterable[int], skip_special_tokens: bool = True) -> str:
        return self._native.decode(ids, skip_special_tokens=skip_special_tokens)

    def decode_batch(self, sequences: collections.abc.Iterable, skip_special_tokens: bool = True) -> list[str]:
        return self._native.decode_batch(sequences, skip_special_tokens=skip_special_tokens)

    # --- vocabulary ---

    def token_to_id(self, token: str) -> int | None:
        return self._native.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        return self._native.id_to_token(id)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        vocab = self._native.vocab()
        return vocab if with_added_tokens else {token: id for token, id in vocab.items() if id < self._native.model_size}

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        return len(self.get_vocab()) if with_added_tokens else self._native.model_size

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        return {token.id: token for token in self._native.added_tokens}

    def add_tokens(self, tokens: collections.abc.Iterable[str | AddedToken]) -> int:
        return self._add(tokens, special=False)

    def add_special_tokens(self, tokens: collections.abc.Iterable[str | AddedToken]) -> int:
        return self._add(tokens, special=True)

    def _add(self, tokens, special: bool) -> int:
        if isinstance(tokens, (str, AddedToken)):
            raise TypeError(f"tokens: a {type(tokens).__name__}, expected a list of str or AddedToken")
        added = []
        for token in tokens:
            if isinstance(token, str):
                added.append(AddedToken(token, special=special))
            elif not isinstance(token, AddedToken):
                raise TypeError(f"tokens: a {type(token).__name__}, expected str or AddedToken")
            else:
                added.append(AddedToken(token.content, single_word=token.single_word, lstrip=token.lstrip, rstrip=token.rstrip,
                                        normalized=token.normalized, special=special or token.special))
        # As there: those that are new, or are not as they were.
        known = {token.content: _flags(token) for token in self._native.added_tokens}
        count = 0
        for token in added:
            count += token.content != "" and known.get(token.content) != _flags(token)
            known[token.content] = _flags(token)
        self._native = self._native.with_added_tokens(added)
        return count


def _flags(token: AddedToken) -> tuple[bool, ...]:
    return token.single_word, token.lstrip, token.rstrip, token.normalized, token.special


def _unsigned(name: str, value: int, bits: int) -> int:
    """With the exceptions that are raised there."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: a {type(value).__name__}, expected an integer") from None
    if not 0 <= value < 1 << bits:
        raise OverflowError(f"{name}: {value}, expected a number from 0 on of at most {bits} bits")
    return value


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}: {value!r}, expected one of {', '.join(choices)}")


class DecodeStream:
    """As tokenizers.decoders.DecodeStream: None while no text is certain."""

    def __init__(self, skip_special_tokens: bool = False):
        self._skip_special_tokens = skip_special_tokens
        self._tokenizer: Tokenizer | None = None
        self._stream: _native.DecodeStream | None = None

    def step(self, tokenizer: Tokenizer, id: int | collections.abc.Iterable[int]) -> str | None:
        if self._tokenizer is not tokenizer:
            if self._tokenizer is not None:
                raise ValueError("tokenizer: another one than in the steps before, expected the same")
            self._tokenizer = tokenizer
            self._stream = tokenizer._native.decode_stream(skip_special_tokens=self._skip_special_tokens)
        ids = [id] if isinstance(id, int) else id
        return "".join([self._stream.step(one) for one in ids]) or None
