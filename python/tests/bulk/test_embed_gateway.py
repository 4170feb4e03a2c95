"""Vectors from a gateway that is full, dies, comes back, refuses: what is asked again, what is a row's fault, what ends a job."""
import email.utils
import socket
import threading
import time

import pytest

pa = pytest.importorskip("pyarrow")

from trellis import bulk
from trellis.bulk import gateway
from fake_gateway import FakeGateway, refused, vector_of
from written import rows_of, write_lines

TEXTS = [f"text number {i}" for i in range(200)]
PROBE = 1  # requests before the first of a table


def embed(url, texts=TEXTS, **options):
    options = {"patience": 20, "request_texts": 16, "concurrency": 4, **options}
    return bulk.Embed(gateway=url, **options)(pa.table({"text": texts}))


def vectors(table):
    return table["vector"].to_pylist()


WANT = [vector_of(text) for text in TEXTS]


def test_each_text_has_its_vector():
    another = threading.Event()

    def wait_for_another(number, texts):
        if number == 1:
            another.wait(60)
        elif number == 2:
            another.set()

    fake = FakeGateway({"model_id": "fake", "max_client_batch_size": 10, "max_batch_tokens": 100000, "max_input_length": 64},
                       wait_for_another)
    with fake.running() as url:
        table = embed(url, api_key="secret", headers={"X-Team": "search"}, prompt_name="query")
    assert vectors(table) == WANT and table["error"].null_count == len(TEXTS)
    assert table.schema.field("vector").type == pa.list_(pa.float32())
    # No more than the gateway takes, though 16 were asked for.
    assert [len(texts) for texts in fake.requests] == [1] + [10] * 20
    assert 1 < fake.most_at_once <= 4
    assert all(one["Authorization"] == "Bearer secret" and one["X-Team"] == "search" for one in fake.headers)


def test_requests_have_about_so_many_tokens():
    fake = FakeGateway()
    with fake.running() as url:
        embed(url, ["x" * 298] * 10 + ["y" * 3000], request_tokens=310)  # 101 tokens each by the guess, 512 at most
    assert sorted(map(len, fake.requests[PROBE:])) == [1, 1, 3, 3, 3]


def test_it_is_asked_again_while_that_may_help():
    def fault(number, texts):
        if number in (1, 5, 9):
            return 429, {"Retry-After": "0.2"}, {"error": "full"}
        if number in (2, 6):
            return 503, {}, {"error": {"message": "starting"}}
        if number == 3:
            return "close"
        if number == 4:
            return 200, {"Content-Length": "1000"}, b'{"data": ['  # cut off
        if number == 7:
            return 504, {}, b"<html>"
        return None

    fake = FakeGateway(fault=fault)
    with fake.running() as url:
        table = embed(url)
    assert vectors(table) == WANT and len(fake.requests) == PROBE + 13 + 8


def test_it_waits_as_long_as_it_is_told():
    soon = email.utils.formatdate(time.time() + 3, usegmt=True)
    for value, least in (("1", 1.0), (soon, 1.0), ("soon", 0.0), ("-5", 0.0)):
        fake = FakeGateway(fault=lambda number, texts: (429, {"Retry-After": value}, {"error": "full"}) if number == 1 else None)
        with fake.running() as url:
            began = time.monotonic()
            assert vectors(embed(url, ["a"])) == [vector_of("a")]
            assert least <= time.monotonic() - began < 10


def test_a_gateway_that_dies_and_comes_back():
    """Connections are broken, then refused, then answered at the same port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    results = []
    first, second = FakeGateway(), FakeGateway()
    seen = threading.Event()

    def drains(number, texts):
        if number < 4:
            return None
        while first.finished < 4:  # or an answer that is under way would end with its connection, and be asked for again
            time.sleep(0.01)
        seen.set()
        return 503, {"Retry-After": "1"}, {"error": "draining"}

    first.fault = drains
    with first.running(port) as url:
        worker = threading.Thread(target=lambda: results.append(embed(url)))
        worker.start()
        assert seen.wait(20)
    time.sleep(0.7)
    with second.running(port):
        worker.join(60)
    assert vectors(results[0]) == WANT
    # What was answered is not asked again.
    answered = [tuple(texts) for texts in first.requests[PROBE:4]]
    assert not set(answered) & {tuple(texts) for texts in second.requests}


def test_rows_that_are_refused():
    bad = {3: "too long", 77: "too long", 78: "too long", 199: "too long"}

    def named(number, texts):
        for place, text in enumerate(texts):
            if text in {TEXTS[row] for row in bad}:
                return refused("too long", f"input[{place}]")
        return None

    def unnamed(number, texts):
        return refused("too long", status=413) if named(number, texts) else None

    def engine(number, texts):
        return refused("too long", status=500) if named(number, texts) else None

    for fault in (named, unnamed, engine):
        fake = FakeGateway(fault=fault)
        with fake.running() as url:
            table = embed(url)
        assert vectors(table) == [None if row in bad else vector for row, vector in enumerate(WANT)]
        assert {row: said for row, said in enumerate(table["error"].to_pylist()) if said} == bad
        if fault is named:
            assert len(fake.requests) == PROBE + 13 + len(bad)
        if fault is engine:
            assert fake.requests.count([TEXTS[3]]) == 3


def test_rows_without_a_text():
    with FakeGateway().running() as url:
        table = embed(url, ["a", None, "", "b"])
        nothing = embed(url, [None, ""])
    assert vectors(table) == [vector_of("a"), None, None, vector_of("b")]
    assert table["error"].to_pylist() == [None, "no text", "empty, expected a text", None]
    assert vectors(nothing) == [None, None]


@pytest.mark.parametrize("fault,said", [
    (lambda number, texts: refused("no key", status=401) if number else None, "401: no key"),
    (lambda number, texts: (200, {}, {"data": []}) if number else None, "0 vectors, expected 16"),
    (lambda number, texts: (200, {}, b"<html>") if number else None, "no JSON"),
    (lambda number, texts: (200, {}, {"model": 1}) if number else None, "without vectors"),
    (lambda number, texts: (503, {}, {"error": "starting"}) if number else None, "tries in 1 s; the last: 503: starting"),
    (lambda number, texts: refused("prompt_name: no such"), "400: prompt_name: no such"),
    # Not one text's fault, as a plain one shows.
    (lambda number, texts: refused("engine_error", status=500) if number else None, "500: engine_error"),
])
def test_what_ends_a_job(fault, said):
    with FakeGateway(fault=fault).running() as url:
        with pytest.raises(bulk.GatewayError, match=said):
            embed(url, patience=1)


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(bulk.GatewayError, match="ConnectionRefusedError"):
        embed(url, patience=0.5)
    for url in ("localhost:8080", "ftp://localhost", "http://"):
        with pytest.raises(ValueError, match="expected http://HOST:PORT"):
            gateway.Gateway(url)
    with pytest.raises(ValueError, match="model, gateway: expected one of them"):
        bulk.Embed()


def test_a_try_that_takes_too_long():
    free = threading.Event()
    fake = FakeGateway(fault=lambda number, texts: free.wait(10) and None if number == 1 else None)
    with fake.running() as url:
        table = embed(url, ["a"], timeout=0.5)
        free.set()
    assert vectors(table) == [vector_of("a")]


def test_a_job_goes_on_after_the_gateway_was_gone(tmp_path):
    write_lines(tmp_path / "in" / "a.jsonl", [{"text": text} for text in TEXTS])
    options = {"part_bytes": 1000, "request_texts": 16, "concurrency": 2, "patience": 0.5, "show_progress": False}
    down = FakeGateway({"model_id": "fake"}, lambda number, texts: (502, {}, b"") if number > 4 else None)
    with down.running() as url, pytest.raises(bulk.GatewayError):
        bulk.embed(tmp_path / "in", tmp_path / "out", gateway=url, **options)
    assert any((tmp_path / "out").glob("part-*")) and not any((tmp_path / "out").glob(".part-*"))
    other = FakeGateway({"model_id": "other"})
    with other.running() as url, pytest.raises(ValueError, match='model.gateway_model was "fake", is "other"'):
        bulk.embed(tmp_path / "in", tmp_path / "out", gateway=url, **options)
    up = FakeGateway({"model_id": "fake"})
    with up.running() as url:  # another address
        report = bulk.embed(tmp_path / "in", tmp_path / "out", gateway=url, **options)
    assert [row["vector"] for row in rows_of(tmp_path / "out")] == WANT and report.skipped > 0
    assert report.tokens == sum(map(len, TEXTS))
