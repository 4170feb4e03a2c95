"""A tokenizer with the calls that programs around `transformers` make: what AutoTokenizer gives, of a folder.

    tokenizer = trellis.transformers.Tokenizer.from_pretrained("models/multilingual-e5-small")
    batch = tokenizer(texts, padding=True, truncation=True, max_length=512, return_tensors="pt")

Needs transformers for its BatchEncoding. Lists, numpy and torch; there is no TensorFlow.
"""
from __future__ import annotations

import collections.abc
import json
import os
import pathlib
from typing import Any

import transformers

from trellis import _native

__all__ = ["Tokenizer"]

NO_LIMIT = int(1e30)  # transformers' own, for a folder that says nothing
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
# How files spell roles that no config gives.
SPELLINGS = {"bos_token": ("<s>",), "eos_token": ("</s>",), "unk_token": ("<unk>", "[UNK]"), "sep_token": ("</s>", "[SEP]"),
             "pad_token": ("<pad>", "[PAD]"), "cls_token": ("<s>", "[CLS]"), "mask_token": ("<mask>", "[MASK]")}


def _read(folder: pathlib.Path, name: str) -> dict[str, Any]:
    path = folder / name
    if not path.exists():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}, expected JSON") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}: a {type(value).__name__}, expected an object")
    return value


class Tokenizer:
    """Made by from_pretrained. Never changes but for what may be set: padding_side, truncation_side, model_max_length."""

    def __init__(self, tokenizer: _native.Tokenizer, config: dict[str, Any] | None = None):
        config = config or {}
        self._native = tokenizer
        self.model_max_length: int = int(config.get("model_max_length") or NO_LIMIT)
        self.padding_side: str = config.get("padding_side", "right")
        self.truncation_side: str = config.get("truncation_side", "right")
        self.model_input_names: list[str] = list(config.get("model_input_names") or self._input_names(config))
        for role in ROLES:
            token = config.get(role)
            token = token["content"] if isinstance(token, dict) else token
            if token is None:
                token = next((one for one in SPELLINGS[role] if tokenizer.token_to_id(one) is not None), None)
            setattr(self, role, token)
            setattr(self, role + "_id", None if token is None else tokenizer.token_to_id(token))

    @staticmethod
    def from_pretrained(folder: str | os.PathLike) -> Tokenizer:
        """A folder; names on the Hub are not looked up."""
        tokenizer = _native.Tokenizer.from_pretrained(folder)
        folder = pathlib.Path(folder)
        return Tokenizer(tokenizer, _read(folder, "special_tokens_map.json") | _read(folder, "tokenizer_config.json"))

    @staticmethod
    def _input_names(config: dict[str, Any]) -> list[str]:
        known = getattr(transformers, str(config.get("tokenizer_class")), None)
        return getattr(known, "model_input_names", ["input_ids", "attention_mask"])

    # --- encoding ---

    def __call__(self, text, text_pair=None, *, add_special_tokens: bool = True, padding: bool | str = False,
                 truncation: bool | str | None = None, max_length: int | None = None, stride: int = 0,
                 is_split_into_words: bool = False, pad_to_multiple_of: int | None = None, padding_side: str | None = None, return_tensors: str | None = None,
                 return_token_type_ids: bool | None = None, return_attention_mask: bool | None = None,
                 return_overflowing_tokens: bool = False, return_special_tokens_mask: bool = False,
                 return_offsets_mapping: bool = False, return_length: bool = False) -> transformers.BatchEncoding:
        """One text, or a list of them, or of pairs as tuples; text_pair: the second text of each.

        is_split_into_words: a text is a list of words.
        """
        single = isinstance(text, (str, bytes))
        if is_split_into_words:
            single = not text or isinstance(text[0], (str, bytes))
        texts = self._inputs(text, text_pair, single)
        limit = self.model_max_length if max_length is None else max_length
        options: dict[str, Any] = {"add_special_tokens": add_special_tokens, "is_pretokenized": is_split_into_words}
        # A max_length alone cuts; transformers warns there.
        if truncation is None:
            truncation = max_length is not None and padding is False
        if truncation not in (False, "do_not_truncate") and limit < NO_LIMIT // 10:
            options |= {"max_length": limit, "truncation": "longest_first" if truncation is True else truncation,
                        "truncation_side": self.truncation_side, "stride": stride, "overflow": return_overflowing_tokens,
                        "cut_nothing": True}
        options["padding"] = self._padding(padding, limit, pad_to_multiple_of, padding_side)
        encodings, samples = [], []
        for sample, encoding in enumerate(self._native.encode_batch(texts, **options)):
            rows = [encoding, *encoding.overflowing] if return_overflowing_tokens else [encoding]
            encodings += rows
            samples += [sample] * len(rows)
        columns: dict[str, list] = {"input_ids": [row.ids for row in encodings]}
        if self._wants(return_token_type_ids, "token_type_ids"):
            columns["token_type_ids"] = [row.type_ids for row in encodings]
        if self._wants(return_attention_mask, "attention_mask"):
            columns["attention_mask"] = [row.attention_mask for row in encodings]
        if return_special_tokens_mask:
            columns["special_tokens_mask"] = [row.special_tokens_mask for row in encodings]
        if return_offsets_mapping:
            columns["offset_mapping"] = [row.offsets for row in encodings]
        if return_length:
            columns["length"] = [len(row) for row in encodings]
        if return_overflowing_tokens:
            columns["overflow_to_sample_mapping"] = samples
        if single and return_tensors is None and not return_overflowing_tokens:
            columns = {name: rows[0] if isinstance(rows[0], list) else rows for name, rows in columns.items()}
        return transformers.BatchEncoding(columns, encodings, tensor_type=return_tensors)

    def _inputs(self, text, text_pair, single: bool) -> list:
        if single:
            return [text if text_pair is None else (text, text_pair)]
        if text_pair is None:
            return list(text)
        text, text_pair = list(text), list(text_pair)
        if len(text) != len(text_pair):
            raise ValueError(f"text_pair: {len(text_pair)} texts, expected {len(text)}, as many as text has")
        return list(zip(text, text_pair))

    def _padding(self, padding, limit: int, multiple: int | None, side: str | None) -> _native.Padding | None:
        if padding in (False, None, "do_not_pad"):
            return None
        if padding not in (True, "longest", "max_length"):
            raise ValueError(f"padding: {padding!r}, expected True, False, longest or max_length")
        if self.pad_token_id is None:
            raise ValueError("padding: the tokenizer has no pad_token, expected one in tokenizer_config.json")
        fixed = padding == "max_length" and limit < NO_LIMIT // 10
        return _native.Padding(length=limit if fixed else None, multiple_of=multiple or 0, side=side or self.padding_side,
                               id=self.pad_token_id, token=self.pad_token)

    def _wants(self, asked: bool | None, name: str) -> bool:
        return name in self.model_input_names if asked is None else asked

    def encode(self, text, text_pair=None, **options: Any) -> list[int]:
        return self(text, text_pair, **options)["input_ids"]

    def tokenize(self, text: str, pair: str | None = None, add_special_tokens: bool = False) -> list[str]:
        return self._native.encode(text, pair, add_special_tokens=add_special_tokens).tokens

    # --- decoding ---

    def decode(self, token_ids, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool = False) -> str:
        ids = [token_ids] if isinstance(token_ids, int) else token_ids
        return self._native.decode(ids, skip_special_tokens=skip_special_tokens, clean_up=bool(clean_up_tokenization_spaces))

    def batch_decode(self, sequences: collections.abc.Iterable, skip_special_tokens: bool = False,
                     clean_up_tokenization_spaces: bool = False) -> list[str]:
        return self._native.decode_batch(sequences, skip_special_tokens=skip_special_tokens,
                                         clean_up=bool(clean_up_tokenization_spaces))

    # --- vocabulary ---

    def __len__(self) -> int:
        return self._native.vocab_size

    @property
    def vocab_size(self) -> int:
        return self._native.model_size

    @property
    def all_special_tokens(self) -> list[str]:
        return list(dict.fromkeys(token for role in ROLES if (token := getattr(self, role)) is not None))

    @property
    def all_special_ids(self) -> list[int]:
        return [self._native.token_to_id(token) for token in self.all_special_tokens]

    def get_vocab(self) -> dict[str, int]:
        return self._native.vocab()

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        return self._native.num_special_tokens(pair)

    def convert_tokens_to_ids(self, tokens: str | collections.abc.Iterable[str]):
        if not isinstance(tokens, str):
            return [self.convert_tokens_to_ids(token) for token in tokens]
        id = self._native.token_to_id(tokens)
        return self._native.unk_id if id is None else id

    def convert_ids_to_tokens(self, ids: int | collections.abc.Iterable[int], skip_special_tokens: bool = False):
        if isinstance(ids, int):
            return self._native.id_to_token(ids)
        skipped = set(self.all_special_ids) if skip_special_tokens else ()
        return [self._native.id_to_token(int(id)) for id in ids if int(id) not in skipped]
