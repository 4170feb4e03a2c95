"""What has been done, as the output folder says: the same for every engine, and right whoever has died."""
from __future__ import annotations

import os
import sys
import threading
import time

from trellis.bulk.parts import Counts, counts_of

TERMINAL_SECONDS, LOG_SECONDS = 1.0, 15.0


class Progress:
    """Shows a line on standard error now and then: on a terminal the same one again, in a log a new one."""

    def __init__(self, folder: str, names: list[str], show: bool):
        self._folder, self._show = folder, show
        self._waiting, self._parts = set(names), len(names)
        self._counts, self._lock = Counts(), threading.Lock()
        self._began, self._rows_before = time.monotonic(), 0
        self._ended = threading.Event()
        self._terminal = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        self._look()
        self._rows_before = self._counts.rows
        self._thread = threading.Thread(target=self._watch, name="trellis-progress", daemon=True)
        if self._show:
            self._thread.start()
        return self

    def __exit__(self, kind, value, traceback) -> None:
        self._ended.set()
        if self._show:
            self._thread.join()
            self._look()
            self._say(last=True)

    def finish(self) -> Counts:
        """All counts; an error if a part is missing, whatever the engine has said."""
        self._look()
        if self._waiting:
            raise RuntimeError(f"{self._folder}: {len(self._waiting)} parts are missing, {min(self._waiting)} the first, after "
                               "all work was done; run the same again to make them")
        return self._counts

    def _look(self) -> None:
        with self._lock:
            for name in sorted(self._waiting.intersection(os.listdir(self._folder))):
                self._counts.add(counts_of(os.path.join(self._folder, name)))
                self._waiting.remove(name)

    def _watch(self) -> None:
        while not self._ended.wait(TERMINAL_SECONDS if self._terminal else LOG_SECONDS):
            try:
                self._look()
            except (OSError, ValueError):
                continue  # finish says it
            self._say(last=False)

    def _say(self, last: bool) -> None:
        counts, seconds = self._counts, time.monotonic() - self._began
        tokens = "" if counts.tokens is None else f", {counts.tokens:,} tokens"
        failed = f", {counts.failed:,} without a result" if counts.failed else ""
        line = (f"trellis: {self._parts - len(self._waiting):,} of {self._parts:,} parts, {counts.rows:,} rows{tokens}{failed}, "
                f"{(counts.rows - self._rows_before) / max(seconds, 1e-9):,.0f} rows/s")
        print(f"\r\x1b[K{line}" if self._terminal else line, end="" if self._terminal and not last else "\n", file=sys.stderr,
              flush=True)
