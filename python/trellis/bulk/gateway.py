"""Asks a trellis-gateway, over a connection that each thread keeps; again where that may help, and only there."""
from __future__ import annotations

import email.utils
import http.client
import json
import random
import ssl
import threading
import time
import urllib.parse

# Full, starting, draining, or somebody between us in trouble. What another status says, it says again.
RETRIED = (429, 502, 503, 504)
BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 0.25, 30.0


class GatewayError(RuntimeError):
    """What ends a job: nobody answers, or the answer is of no use whatever the texts are."""


class Refused(Exception):
    """An answer that is about the request, and would be the same again."""

    def __init__(self, status: int, message: str, param: str | None):
        super().__init__(message)
        self.status, self.message, self.param = status, message, param


class Gateway:
    """patience: seconds for which a request is asked again before the job ends. timeout: of one try."""

    def __init__(self, url: str, *, api_key: str | None = None, headers: dict[str, str] | None = None, timeout: float = 120,
                 patience: float = 300):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"gateway: {url!r}, expected http://HOST:PORT or https://HOST")
        self.url, self._parts, self._path = url, parts, parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout, self._patience = timeout, patience
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._of_thread = threading.local()
        self.retries = 0  # for people; not exact between threads

    def get(self, path: str) -> dict:
        return self._ask("GET", path, None)

    def post(self, path: str, body: dict) -> dict:
        # A lone surrogate never comes this far.
        return self._ask("POST", path, json.dumps(body, ensure_ascii=False).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> dict:
        until, tries, said = time.monotonic() + self._patience, 0, ""
        while True:
            wait = 0.0
            try:
                status, headers, answer = self._once(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self._close()
                said = f"{type(error).__name__}: {error}"
            else:
                if status == 200:
                    return self._json(answer)
                message, param = _message(answer)
                said = f"{status}: {message}"
                if status not in RETRIED:
                    raise Refused(status, message, param)
                wait = _retry_after(headers.get("Retry-After"))
            # Not all at the same time again.
            backoff = min(BACKOFF_SECONDS * 2 ** min(tries, 20), LONGEST_BACKOFF_SECONDS) * random.uniform(0.5, 1.0)
            tries, self.retries, wait = tries + 1, self.retries + 1, max(wait, backoff)
            if time.monotonic() + wait > until:
                raise GatewayError(f"{self.url}{path}: no answer after {tries} tries in {self._patience:g} s; the last: {said}")
            time.sleep(wait)

    def _once(self, method: str, path: str, body: bytes | None):
        connection = getattr(self._of_thread, "connection", None)
        if connection is None:
            host, port = self._parts.hostname, self._parts.port
            connection = (http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls) if self._tls
                          else http.client.HTTPConnection(host, port, timeout=self._timeout))
            self._of_thread.connection = connection
        connection.request(method, self._path + path, body, self._headers)
        response = connection.getresponse()
        answer = response.read()  # all of it, or IncompleteRead
        if response.will_close:
            self._close()
        return response.status, response.headers, answer

    def _close(self) -> None:
        if (connection := getattr(self._of_thread, "connection", None)) is not None:
            self._of_thread.connection = None
            connection.close()

    def _json(self, answer: bytes) -> dict:
        try:
            value = json.loads(answer)
        except ValueError as error:
            raise GatewayError(f"{self.url}: an answer that is no JSON ({error}), expected a trellis-gateway") from None
        if not isinstance(value, dict):
            raise GatewayError(f"{self.url}: a {type(value).__name__} as answer, expected an object")
        return value


def _message(answer: bytes) -> tuple[str, str | None]:
    try:
        error = json.loads(answer)["error"]
        return (str(error["message"]), error.get("param")) if isinstance(error, dict) else (str(error), None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return answer[:200].decode(errors="replace").strip() or "an empty answer", None


def _retry_after(value: str | None) -> float:
    """Seconds, or a date; what is neither says nothing."""
    if not value:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0
