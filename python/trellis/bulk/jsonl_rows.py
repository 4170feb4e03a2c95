"""Rows of JSON lines: a row's place is the byte that its line begins at (of a compressed file: of what is in it).

A line that is no JSON object is a row too, with nothing but its error. Lines of blanks are none.
"""
from __future__ import annotations

import collections.abc
import io
import json
import typing

import pyarrow as pa

from trellis.bulk.rows import BATCH_BYTES, BATCH_ROWS, Columns, Rows
from trellis.bulk.splits import Split

TYPES = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def kept_fields(columns: Columns) -> list[pa.Field]:
    fields = []
    for one in columns.keep:
        name, _, kind = one.rpartition(":") if ":" in one else (one, "", "string")
        if kind not in TYPES:
            raise ValueError(f"keep: {one!r}, expected NAME or NAME:TYPE with one of {list(TYPES)}")
        fields.append(pa.field(name, TYPES[kind]))
    return fields


def read_jsonl(split: Split, columns: Columns, malformed: str) -> collections.abc.Iterator[Rows]:
    fields, places, lines, size = kept_fields(columns), [], [], 0
    for place, line in _lines(split):
        places.append(place)
        lines.append(line)
        size += len(line)
        if len(lines) == BATCH_ROWS or size >= BATCH_BYTES:
            yield _rows(places, lines, columns, fields, malformed)
            places, lines, size = [], [], 0
    if lines:
        yield _rows(places, lines, columns, fields, malformed)


def _lines(split: Split) -> collections.abc.Iterator[tuple[int, bytes]]:
    """Those that begin in the split; the one that another split began is that one's."""
    with (io.BufferedReader(pa.input_stream(split.file.path, compression="detect")) if split.file.compressed
          else open(split.file.path, "rb")) as file:
        place = split.begin
        if place > 0:
            file.seek(place - 1)
            place += len(file.readline()) - 1
        while split.end < 0 or place < split.end:
            try:
                line = file.readline()
            except (OSError, pa.ArrowException) as error:
                raise ValueError(f"{split.file.path}: {error}, in what follows byte {place} of its lines") from error
            if not line:
                break
            data = line.removeprefix(BYTE_ORDER_MARK) if place == 0 else line
            if data.strip():
                yield place, data
            place += len(line)


def _rows(places: list[int], lines: list[bytes], columns: Columns, fields: list[pa.Field], malformed: str) -> Rows:
    kept: list[list] = [[] for _ in fields]
    texts, pairs, errors = [], [], []
    wanted = [columns.text] if columns.pair is None else [columns.text, columns.pair]
    for line in lines:
        said: list[str] = []

        def taken(take: typing.Callable, *arguments):
            try:
                return take(*arguments, malformed)
            except ValueError as error:
                said.append(str(error))
                return None

        row = taken(_object, line) or {}
        found = [taken(_text, row, name) for name in wanted]
        for one, field in zip(kept, fields):  # also of a row whose text is of no use
            one.append(taken(_kept, row, field))
        errors.append(said[0] if said else None)
        texts.append(None if said else found[0])
        pairs.append(None if said else found[-1])
    return Rows(pa.array(places, pa.int64()), [pa.array(one, field.type) for one, field in zip(kept, fields)],
                pa.array(texts, pa.string()), None if columns.pair is None else pa.array(pairs, pa.string()),
                pa.array(errors, pa.string()))


def _object(line: bytes, malformed: str) -> dict:
    try:
        row = json.loads(line.decode("utf-8", "strict" if malformed == "error" else "replace"))
    except UnicodeDecodeError:
        raise ValueError("line: no UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"line: no JSON: {error.msg}") from None
    except ValueError:
        raise ValueError("line: a number of more digits than Python reads") from None
    except RecursionError:
        raise ValueError("line: no JSON: too deep") from None
    if not isinstance(row, dict):
        raise ValueError(f"line: a {type(row).__name__}, expected an object")
    return row


def _text(row: dict, name: str, malformed: str) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name}: a {type(value).__name__}, expected a string")
    return None if value is None else _whole(value, name, malformed)


def _kept(row: dict, field: pa.Field, malformed: str):
    value = row.get(field.name)
    if value is None:
        return None
    if field.type == TYPES["string"]:
        return _whole(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), field.name, malformed)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if field.type == TYPES["double"] and number:
        try:
            return float(value)
        except OverflowError:
            pass
    elif field.type == TYPES["int64"] and number and isinstance(value, int) and -1 << 63 <= value < 1 << 63:
        return value
    elif field.type == TYPES["bool"] and isinstance(value, bool):
        return value
    raise ValueError(f"{field.name}: no {field.type}")


def _whole(value: str, name: str, malformed: str) -> str:
    """JSON can spell half of a surrogate pair, which is no character."""
    try:
        value.encode()
    except UnicodeEncodeError:
        if malformed == "error":
            raise ValueError(f"{name}: a lone surrogate") from None
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
