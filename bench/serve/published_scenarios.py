"""The four published scenarios of embedding servers, asked over HTTP: what is sent, by how many, and what is measured."""
import http.client
import json
import multiprocessing
import time


class Client:
    """One connection to a gateway. A status other than 200 ends the run: a time of an error says nothing."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def ask(self, path, body):
        self.connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: status {answer.status}: {said[:300]!r}")
        return said

    def info(self):
        self.connection.request("GET", "/info")
        return json.loads(self.connection.getresponse().read())


def text_of(client, tokens):
    """A text of exactly so many tokens with the specials, and its ids without them."""
    words = ["water"]

    def ids():
        return [token["id"] for token in json.loads(client.ask("/tokenize", json.dumps(
            {"inputs": " ".join(words), "add_special_tokens": True})))[0]]

    one = len(ids())
    words.append("water")
    each = len(ids()) - one
    words = ["water"] * (1 + max(0, tokens - one) // each)
    while len(ids()) < tokens:
        words.append("a")
    found = ids()
    if len(found) != tokens:
        raise SystemExit(f"no text of {tokens} tokens was found, the nearest has {len(found)}")
    return " ".join(words), found[1:-1]


def quantiles(seconds):
    ordered = sorted(seconds)
    return {name: round(ordered[min(len(ordered) - 1, int(point * len(ordered)))] * 1000, 3)
            for name, point in (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99), ("max_ms", 1.0))}


def sequential(port, path, body, seconds, least=5):
    """Times of requests one after another, after one that does not count."""
    client = Client(port)
    client.ask(path, body)
    times, end = [], time.monotonic() + seconds
    while len(times) < least or time.monotonic() < end:
        start = time.monotonic()
        client.ask(path, body)
        times.append(time.monotonic() - start)
    return times


def at_once(port, path, body, seconds, clients, least=5):
    """The same from several processes that begin together; times of all, and how long it took."""
    with multiprocessing.get_context("fork").Pool(clients) as pool:
        start = time.monotonic()
        done = pool.starmap(sequential, [(port, path, body, seconds, least)] * clients, chunksize=1)
        wall = time.monotonic() - start
    return [one for times in done for one in times], wall, clients  # each began with one that is not among the times


def row(label, tokens, clients, batch, times, wall=None, uncounted=0):
    result = {"label": label, "tokens": tokens, "clients": clients, "batch": batch, "requests": len(times), **quantiles(times)}
    if wall is not None:
        result["per_second"] = round((len(times) + uncounted) * batch / wall, 2)
    return result


def latency_embeddings(port, scale):
    """Pre-tokenized, one input a request, one request after another."""
    rows = []
    for tokens in scale.latency_tokens:
        _, ids = text_of(Client(port), tokens)
        rows.append(row(f"{tokens} tokens", tokens, 1, 1,
                        sequential(port, "/v1/embeddings", json.dumps({"input": ids}), scale.seconds)))
    return rows


def latency_scoring(port, scale):
    """A query against batches of documents, one request after another."""
    rows = []
    for batch in scale.scoring_batches:
        tokens = scale.scoring_tokens
        # A pair has both and four specials at most; the document takes what is left.
        document, _ = text_of(Client(port), tokens - 8)
        body = json.dumps({"query": "water", "texts": [document] * batch, "truncate": True})
        rows.append(row(f"{batch} documents", tokens, 1, batch, sequential(port, "/rerank", body, scale.seconds)))
    return rows


def throughput(port, scale):
    """Large batches of texts from four client processes."""
    rows = []
    for tokens in scale.throughput_tokens:
        text, _ = text_of(Client(port), tokens)
        body = json.dumps({"input": [text] * scale.throughput_batch})
        times, wall, uncounted = at_once(port, "/v1/embeddings", body, scale.seconds, 4)
        rows.append(row(f"{tokens} tokens", tokens, 4, scale.throughput_batch, times, wall, uncounted))
    return rows


def concurrency(port, scale):
    """One text a request, by more and more clients."""
    rows = []
    text, _ = text_of(Client(port), scale.concurrency_tokens)
    for clients in scale.clients:
        times, wall, uncounted = at_once(port, "/v1/embeddings", json.dumps({"input": text}), scale.seconds, clients)
        rows.append(row(f"{clients} clients", scale.concurrency_tokens, clients, 1, times, wall, uncounted))
    return rows
