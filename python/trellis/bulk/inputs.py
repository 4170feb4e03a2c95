"""The files of a job: what a path, a folder or a pattern names, in one order on every machine."""
from __future__ import annotations

import collections.abc
import dataclasses
import glob
import os
import pathlib

PARQUET, JSONL = "parquet", "jsonl"
SUFFIXES = {".parquet": PARQUET, ".jsonl": JSONL, ".ndjson": JSONL, ".json": JSONL}
COMPRESSED = (".gz", ".bz2", ".zst")  # of JSON lines; as pyarrow knows them by their names


@dataclasses.dataclass(frozen=True)
class InputFile:
    path: str
    name: str  # below the folder that holds all of them; the same wherever that is mounted
    size: int
    mtime_ns: int
    format: str
    compressed: bool


def format_of(path: pathlib.Path) -> str | None:
    suffixes = path.suffixes
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
        return JSONL if suffixes and SUFFIXES.get(suffixes[-1]) == JSONL else None
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def find_inputs(inputs: str | os.PathLike | collections.abc.Iterable[str | os.PathLike], format: str | None = None,
                output: str | os.PathLike | None = None) -> list[InputFile]:
    """Files by name. Of folders those with a known suffix, at any depth; what begins with "." or "_" is not data there.

    format: of all of them, whatever they are called. output: a folder that must not be among them.
    """
    if format not in (None, PARQUET, JSONL):
        raise ValueError(f"format: {format!r}, expected {PARQUET!r} or {JSONL!r}")
    paths: set[pathlib.Path] = set()
    folder = None if output is None else pathlib.Path(os.path.abspath(output))
    for one in [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs:
        paths.update(_expand(str(os.fspath(one)), format))
        if folder is not None and _would_find(pathlib.Path(os.path.abspath(one)), folder):
            raise ValueError(f"output: {folder} lies in the input {one}, where it would be input the next time; expected another "
                             'folder, or one whose name begins with "_"')
    if not paths:
        raise ValueError("input: no file, expected at least one")
    root = pathlib.Path(os.path.commonpath([path.parent for path in paths]))
    if folder is not None and folder in {p for path in paths for p in path.parents}:
        raise ValueError(f"output: {folder} holds input files, expected another folder")
    files = [_file(path, path.relative_to(root).as_posix(), format) for path in sorted(paths)]
    if len(formats := {file.format for file in files}) > 1:
        raise ValueError(f"input: files of {' and '.join(sorted(formats))}, expected one kind in a job")
    return files


def _expand(name: str, format: str | None) -> list[pathlib.Path]:
    path = pathlib.Path(os.path.abspath(name))
    if path.is_dir():
        found = [one for one in _files(path, set()) if format is not None or format_of(one) is not None]
        if not found:
            raise ValueError(f"{name}: no input file, expected *.parquet or *.jsonl")
        return found
    if path.is_file():
        return [path]
    if glob.has_magic(name):
        found = [pathlib.Path(os.path.abspath(one)) for one in glob.glob(name, recursive=True) if os.path.isfile(one)]
        if not found:
            raise FileNotFoundError(f"{name}: no file, expected the pattern to name some")
        return found
    raise FileNotFoundError(f"{name}: no such file, expected a file, a folder or a pattern")


def _is_hidden(parts: collections.abc.Iterable[str]) -> bool:
    return any(part[0] in "._" for part in parts)


def _files(folder: pathlib.Path, seen: set[str]) -> collections.abc.Iterator[pathlib.Path]:
    """Links are followed, and each folder is looked at once, as they may go round."""
    if (real := os.path.realpath(folder)) in seen:
        return
    seen.add(real)
    for one in sorted(folder.iterdir()):
        if _is_hidden([one.name]):
            continue
        if one.is_dir():
            yield from _files(one, seen)
        elif one.is_file():
            yield one


def _would_find(inputs: pathlib.Path, output: pathlib.Path) -> bool:
    """Whether the folder `inputs` would be searched for files in `output`."""
    return (inputs.is_dir() and output != inputs and output.is_relative_to(inputs)
            and not _is_hidden(output.relative_to(inputs).parts))


def _file(path: pathlib.Path, name: str, format: str | None) -> InputFile:
    kind = format or format_of(path)
    if kind is None:
        raise ValueError(f"{path}: a file of no known kind, expected .parquet or .jsonl (.gz, .bz2, .zst), or that `format` says")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"input: {str(path)!r} is no UTF-8, expected a name that is") from None
    state = path.stat()
    compressed = kind == JSONL and path.suffix in COMPRESSED
    return InputFile(str(path), name, state.st_size, state.st_mtime_ns, kind, compressed)
