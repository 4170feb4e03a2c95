"""Which rows of a column have a text, and why the others have none. A row is never lost: it is null, and says why."""
from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

NO_TEXT = "no text"
NOT_UTF8 = "no UTF-8"
MALFORMED = ("error", "replace")
MOST_THREADS = 1024  # as the library


def check_malformed(malformed: str) -> str:
    if malformed not in MALFORMED:
        raise ValueError(f"malformed: {malformed!r}, expected one of {list(MALFORMED)}")
    return malformed


def check_count(name: str, value: int | None, least: int, most: int) -> None:
    if value is not None and (not isinstance(value, int) or not least <= value <= most):
        raise ValueError(f"{name}: {value!r}, expected a number from {least} to {most}")


def strings(column: pa.Array | pa.ChunkedArray, name: str) -> pa.Array | pa.ChunkedArray:
    """As string, large_string, binary or large_binary; dictionaries and views are unpacked."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    # pyarrow has had views since 16.
    for view, plain in (("is_string_view", pa.large_string()), ("is_binary_view", pa.large_binary())):
        if getattr(pa.types, view, lambda _: False)(kind):
            return column.cast(plain)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
            or pa.types.is_large_binary(kind)):
        raise ValueError(f"column {name!r}: {kind}, expected strings")
    return column


def usable(column: pa.Array | pa.ChunkedArray, name: str, malformed: str) -> tuple[pa.Array | pa.ChunkedArray, pa.Array]:
    """The column with null where there is no text to work on, and a string for each row: why not, or null.

    malformed: bytes that are no UTF-8 are no text ("error"), or U+FFFD stands for each of their ill-formed parts ("replace").
    """
    column = strings(column, name)
    large = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    try:
        text = column.cast(pa.large_string() if large else pa.string())
        text.validate(full=True)  # which a cast from strings to strings does not
    except pa.ArrowInvalid:
        text = _row_by_row(column, pa.large_string() if large else pa.string(), malformed)
    reasons = pc.if_else(column.is_null(), pa.scalar(NO_TEXT), pc.if_else(text.is_null(), pa.scalar(NOT_UTF8),
                                                                         pa.scalar(None, pa.string())))
    return text, reasons.combine_chunks() if isinstance(reasons, pa.ChunkedArray) else reasons


def _row_by_row(column, kind: pa.DataType, malformed: str) -> pa.Array:
    # Not cast to bytes at once: a cast of broken strings may look at them.
    texts = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        binary = pa.large_binary() if kind == pa.large_string() else pa.binary()
        for data in (chunk if chunk.type == binary else chunk.view(binary)).to_pylist():
            texts.append(None if data is None else _decoded(data, malformed))
    return pa.array(texts, kind)


def _decoded(data: bytes, malformed: str) -> str | None:
    try:
        # Python, as the library, replaces each maximal ill-formed part by one U+FFFD.
        return data.decode("utf-8", "strict" if malformed == "error" else "replace")
    except UnicodeDecodeError:
        return None
