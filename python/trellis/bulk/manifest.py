"""What made the parts of a folder: a job goes on with a folder only if it would have made them too."""
from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pathlib
import typing

from trellis._native import __version__

NAME = "_trellis.json"  # which readers of Parquet folders pass over
LOCK = ".trellis.lock"
TOKENIZER_FILES = ("*.json", "*.model", "*.trellis")
MODEL_FILES = (*TOKENIZER_FILES, "*.safetensors")
MOST_NAMED = 3


def digest(model: str | os.PathLike, patterns: tuple[str, ...]) -> str:
    """Of a file, or of all such files in a folder, with their names."""
    path = pathlib.Path(model)
    if not path.exists():
        raise FileNotFoundError(f"model: {path}: no such file or folder")
    files = [path] if path.is_file() else sorted({one for pattern in patterns for one in path.rglob(pattern) if one.is_file()})
    sum = hashlib.sha256()
    for file in files:
        if path.is_dir():
            sum.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with open(file, "rb") as opened:
            while block := opened.read(1 << 20):
                sum.update(block)
    return "sha256:" + sum.hexdigest()


def describe(what: dict[str, typing.Any], inputs: list) -> dict[str, typing.Any]:
    return {"trellis": __version__, **what,
            "inputs": {file.name: {"bytes": file.size, "modified_ns": file.mtime_ns} for file in inputs}}


def agree(folder: str | os.PathLike, wanted: dict[str, typing.Any]) -> None:
    """Writes it, or compares it with the one that is there: ValueError names what differs."""
    path = pathlib.Path(folder) / NAME
    if not path.exists():
        others = [one.name for one in sorted(path.parent.iterdir()) if not one.name.startswith(".")]
        if others:
            raise ValueError(f"output: {path.parent} has {others[0]} and no {NAME}, expected an empty folder, or one to go on "
                             "with")
        temporary = path.with_name(f".{NAME}.{os.getpid()}.tmp")
        temporary.write_text(json.dumps(wanted, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(temporary, path)
        return
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}, expected what a job has written") from None
    if not isinstance(there, dict):
        raise ValueError(f"{path}: a {type(there).__name__}, expected what a job has written")
    if found := _differences(there, json.loads(json.dumps(wanted)), ""):
        more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        raise ValueError(f"{path}: its parts were made otherwise: {'; '.join(found[:MOST_NAMED])}{more}. Expected the same, or "
                         "another output folder")


def _differences(there, wanted, place: str) -> list[str]:
    if isinstance(there, dict) and isinstance(wanted, dict):
        return [one for key in {**there, **wanted}
                for one in _differences(there.get(key), wanted.get(key), f"{place}.{key}" if place else key)]
    return [] if there == wanted else [f"{place} was {json.dumps(there)}, is {json.dumps(wanted)}"]


class Lock:
    """One job at a time in a folder; released when its process ends, however it ends."""

    def __init__(self, folder: str | os.PathLike):
        self._file = open(pathlib.Path(folder) / LOCK, "wb")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise ValueError(f"output: another job is at work in {folder}, expected one at a time") from None
        except OSError:  # a file system without locks
            pass

    def release(self) -> None:
        self._file.close()
