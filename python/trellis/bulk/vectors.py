"""Texts to vectors through a gateway: several in a request, several requests at a time, and a fault to its own row."""
from __future__ import annotations

import base64
import binascii
import concurrent.futures
import re

import numpy

from trellis.bulk.gateway import Gateway, GatewayError, Refused

PATH = "/v1/embeddings"
# Of a gateway that does not say; its body's limit is 16 MiB, of which JSON's escapes may take six times a text's bytes.
TEXTS, TOKENS, INPUT_TOKENS, BYTES = 32, 16384, 512, 2 << 20
# About another key or path, and so about every row.
OF_THE_JOB = (301, 302, 307, 308, 401, 403, 404, 405, 415)
# The engine's fault, perhaps for one text's sake.
ENGINE_TRIES = 3
AT = re.compile(r"input\[(\d+)\]")


class GatewayVectors:
    """`concurrency` requests at a time. Of the gateway's /info: how many texts and tokens a request may have."""

    def __init__(self, gateway: Gateway, options: dict, *, concurrency: int = 8, texts: int | None = None,
                 tokens: int | None = None):
        if concurrency < 1:
            raise ValueError(f"concurrency: {concurrency}, expected at least 1")
        self._gateway, self._options = gateway, options
        info = self._info()
        self.model = str(info.get("model_id") or "")
        self._texts = min(texts or 1 << 30, info.get("max_client_batch_size") or TEXTS)
        self._tokens = tokens or info.get("max_batch_tokens") or TOKENS
        self._input_tokens = info.get("max_input_length") or INPUT_TOKENS
        self._pool = concurrent.futures.ThreadPoolExecutor(concurrency, "trellis-gateway")
        self.dimensions = self._plain_text()

    def _plain_text(self) -> int:
        """What is refused of it is refused of all, and no row is to blame. A vector's length."""
        try:
            return len(self._request(["a"])[0][0])
        except Refused as refused:
            raise GatewayError(f"{self._gateway.url}{PATH}: {refused.status}: {refused.message}") from None

    def _info(self) -> dict:
        try:
            return self._gateway.get("/info")
        except Refused as refused:
            if refused.status in (404, 405):  # somebody else's server that speaks OpenAI's protocol
                return {}
            raise GatewayError(f"{self._gateway.url}/info: {refused.status}: {refused.message}") from None

    def embed(self, texts: list[str]) -> tuple[list[numpy.ndarray | None], dict[int, str], int]:
        """A vector, or None, for each; why for those without; tokens computed."""
        vectors: list[numpy.ndarray | None] = [None] * len(texts)
        errors: dict[int, str] = {row: "empty, expected a text" for row, text in enumerate(texts) if not text}
        tokens = 0
        futures = [self._pool.submit(self._settle, rows, texts) for rows in self._requests(texts)]
        try:
            for future in concurrent.futures.as_completed(futures):
                done, faults, used = future.result()
                for row, vector in done.items():
                    vectors[row] = vector
                errors.update(faults)
                tokens += used
        finally:
            for future in futures:
                future.cancel()
        return vectors, errors, tokens

    def _requests(self, texts: list[str]):
        """Rows of each request. Tokens are guessed, three bytes each: how many are best is the gateway's taste, no limit."""
        rows, tokens, size = [], 0, 0
        for row, text in enumerate(texts):
            if not text:
                continue
            length = len(text.encode())
            guess = min(length // 3 + 2, self._input_tokens)
            if rows and (len(rows) == self._texts or tokens + guess > self._tokens or size + length > BYTES):
                yield rows
                rows, tokens, size = [], 0, 0
            rows.append(row)
            tokens, size = tokens + guess, size + length
        if rows:
            yield rows

    def _settle(self, rows: list[int], texts: list[str]):
        """Asks for rows; where they are refused, for less of them, until it is known which are to blame."""
        done, errors, tokens = {}, {}, 0
        waiting, tries = [rows], 0
        while waiting:
            rows = waiting.pop()
            try:
                vectors, used = self._request([texts[row] for row in rows])
            except Refused as refused:
                if refused.status in OF_THE_JOB:
                    raise GatewayError(f"{self._gateway.url}{PATH}: {refused.status}: {refused.message}") from None
                named = AT.match((refused.param or "").strip("`"))
                if len(rows) > 1 and named and int(named[1]) < len(rows):
                    place = int(named[1])
                    errors[rows[place]] = refused.message
                    waiting.append(rows[:place] + rows[place + 1:])
                elif len(rows) > 1:
                    waiting += [rows[len(rows) // 2:], rows[:len(rows) // 2]]
                elif refused.status >= 500 and tries + 1 < ENGINE_TRIES:
                    tries += 1
                    waiting.append(rows)
                    continue
                else:
                    self._plain_text()
                    errors[rows[0]] = refused.message
            else:
                done.update(zip(rows, vectors))
                tokens += used
            tries = 0
        return done, errors, tokens

    def _request(self, texts: list[str]) -> tuple[list[numpy.ndarray], int]:
        answer = self._gateway.post(PATH, {"input": texts, "encoding_format": "base64", **self._options})
        try:
            items = sorted(answer["data"], key=lambda item: item["index"])
            vectors = [_vector(item["embedding"]) for item in items]
            tokens = int((answer.get("usage") or {}).get("prompt_tokens") or 0)
        except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
            what = f"{type(error).__name__}: {error}"
            raise GatewayError(f"{self._gateway.url}{PATH}: an answer without vectors ({what})") from None
        if [item["index"] for item in items] != list(range(len(texts))) or len({len(vector) for vector in vectors}) > 1:
            raise GatewayError(f"{self._gateway.url}{PATH}: {len(vectors)} vectors, expected {len(texts)}, each once and of one "
                               "length")
        return vectors, tokens


def _vector(value) -> numpy.ndarray:
    if isinstance(value, str):
        return numpy.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    return numpy.asarray(value, dtype=numpy.float32)
