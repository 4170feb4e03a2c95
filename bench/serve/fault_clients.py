"""What bench/serve/faults lets clients do to a gateway: too many, too slow, too much, and gone."""
import asyncio
import random
import resource
import socket
import time

from fault_programs import wait_until
from fault_scenarios import Cluster, no_error
from http_load import TEXTS, ask_one_by_one, request
from scenarios import Checks, result

# Two rows of a batch take 20 ms: 200 rows a second from two servers.
SLOW_ENGINE = "batch_us=20000,max_batch_rows=2"
ROWS_A_SECOND = 200


class Connections:
    """So many connections to the gateway, of which each says a beginning and then a byte now and then."""

    def __init__(self, port, count, beginning=b""):
        self.sockets = []
        for _ in range(count):
            self.sockets.append(socket.create_connection(("127.0.0.1", port), timeout=30))
            self.sockets[-1].sendall(beginning)

    def drip(self, byte=b"a"):
        for one in self.sockets:
            try:
                one.send(byte)
            except OSError:
                pass  # closed by the other side, as it should be in the end

    def closed(self):
        """How many the other side has ended."""
        ended = 0
        for one in self.sockets:
            one.setblocking(False)
            try:
                ended += one.recv(4096) == b""
            except BlockingIOError:
                pass
            except OSError:
                ended += 1
        return ended

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.sockets:
            one.close()


def idle(build, pace):
    checks = Checks(pace)
    count = 10_000 if pace.whole else 500
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the programs inherit it
    with Cluster(build) as cluster:
        before = cluster.gateway.resident_mib()
        with Connections(cluster.gateway.port, count), cluster.load() as load:
            time.sleep(pace.seconds)
            during = cluster.gateway.resident_mib()
        table = cluster.row(load) + [["gateway's memory", f"{before:.1f} MiB, {during:.1f} with {count} connections"]]
    no_error(checks, load)
    checks.timed("at most 16 KiB a connection", during - before < count / 64)
    return result("idle", f"{count} connections that say nothing", table, checks, load=load.outcome())


def slow_loris(name, beginning, drops_within, shows):
    def scenario(build, pace):
        checks = Checks(pace)
        count = 500 if pace.whole else 50
        patience = drops_within if pace.timed else 3 * drops_within
        with Cluster(build) as cluster:
            with Connections(cluster.gateway.port, count, beginning) as slow, cluster.load() as load:
                end = time.monotonic() + (patience if pace.whole else pace.seconds)
                while time.monotonic() < end and slow.closed() < count:
                    slow.drip()
                    time.sleep(0.5 if pace.whole else 0.05)
                closed = slow.closed()
            table = cluster.row(load) + [["closed by the gateway", f"{closed} of {count}"]]
        no_error(checks, load)
        if pace.whole:
            checks.true(f"each is closed within {patience} s", closed == count)
        return result(name, f"{count} clients, a byte at a time: {shows}", table, checks, load=load.outcome())
    return scenario


def overload(build, pace):
    checks = Checks(pace)
    # A second's worth may wait at each server. The texts have some 30 tokens in the tiny model.
    with Cluster(build, (SLOW_ENGINE, SLOW_ENGINE), {"max_queued_tokens": 3000}) as cluster:
        idle_before = ask_one_by_one(cluster.gateway.port, cluster.expected, 5)
        resident = []
        with cluster.load(rate=3 * ROWS_A_SECOND) as load:
            end = time.monotonic() + pace.seconds
            while time.monotonic() < end:
                resident.append([one.resident_mib() for one in (cluster.gateway, *cluster.servers)])
                time.sleep(pace.seconds / 100)
        quiet, took = wait_until(lambda: not cluster.gauges())
        after = ask_one_by_one(cluster.gateway.port, cluster.expected, 5)
        left = cluster.gauges()
        table = cluster.row(load)
    quarter = max(len(resident) // 4, 1)
    early, late = ([max(samples) for samples in zip(*part)] for part in (resident[quarter:2 * quarter], resident[-quarter:]))
    before, again = idle_before.milliseconds(0.5), after.milliseconds(0.5)
    table += [["memory of gateway, servers", ", ".join(f"{a:.1f} then {b:.1f} MiB" for a, b in zip(early, late))],
              ["queues empty after", f"{took:.2f} s"], ["single request p50", f"before {before} ms, right after {again} ms"]]
    no_error(checks, load, (200, 429))
    checks.timed("the load was three times what is computed, or nearly: more were refused than answered, and few left out",
                 load.codes[429] > load.codes[200] and load.skipped < 0.1 * sum(load.codes.values()))
    checks.true(f"gauges back to 0 {left or ''}", quiet and not left)
    checks.true("afterwards every request is answered", set(after.codes) == {200} and after.wrong == 0)
    checks.timed("what is computed goes on: 80% of the servers' speed or more", load.codes[200] > 0.8 * ROWS_A_SECOND * pace.seconds)
    checks.timed("memory flat: of each, the last quarter within 5% and 4 MiB of the second",
                 all(b <= a * 1.05 + 4 for a, b in zip(early, late)))
    checks.timed("at once as before: the median at most twice that before, and 5 ms", again <= 2 * before + 5)
    return result("overload", f"{pace.seconds:g} s at three times what the servers do", table, checks, load=load.outcome())


async def give_up(port, count):
    """So many clients that ask and are gone after up to 60 ms."""
    async def one(number):
        await asyncio.sleep(random.random())
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(TEXTS[number % len(TEXTS)]))
        await asyncio.sleep(0.06 * random.random())
        writer.transport.abort()
    await asyncio.gather(*(one(number) for number in range(count)))


def cancels(build, pace):
    checks = Checks(pace)
    count = 1000 if pace.whole else 200
    with Cluster(build, (SLOW_ENGINE, SLOW_ENGINE)) as cluster:
        asyncio.run(give_up(cluster.gateway.port, count))
        zero, took = wait_until(lambda: not cluster.gauges())
        left = cluster.gauges()
        cancelled = cluster.gateway.metrics()["trellis_cancelled_total"]
        rows = sum(server.metrics()['trellis_batch_size_sum'] for server in cluster.servers) - len(TEXTS)
        after = ask_one_by_one(cluster.gateway.port, cluster.expected, 5)
        table = [["given up, as the gateway saw it", f"{cancelled:.0f} of {count}"], ["rows computed all the same", f"{rows:.0f}"],
                 ["gauges at 0 after", f"{took:.2f} s"]]
    checks.true(f"gauges back to 0 {left or ''}", zero and not left)
    checks.true("some were given up in time", 0 < cancelled <= count)
    checks.true("afterwards every request is answered", set(after.codes) == {200} and after.wrong == 0)
    return result("cancels", f"{count} clients that go within 60 ms of asking", table, checks)


headers = slow_loris("slow_headers", b"POST /embed HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", 80, "headers")
bodies = slow_loris("slow_bodies", b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Content-Length: 100000\r\n\r\n{\"inputs\":\"", 65, "bodies")
