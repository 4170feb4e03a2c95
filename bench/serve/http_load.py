"""HTTP clients of a fault run: many at once in one thread, each answer compared with what it should be."""
import asyncio
import collections
import json
import threading
import time

TEXTS = [f"the {adjective} {noun} of number {number}" for number, (adjective, noun) in enumerate(
    (a, n) for a in ("old", "new", "red", "wet") for n in ("house", "river", "letter", "engine"))]


def request(text, path="/embed"):
    body = json.dumps({"inputs": text}).encode()
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            ).encode() + body


async def read_answer(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return int(head.split(b" ", 2)[1]), await reader.readexactly(length)


class Load:
    """Runs in a thread of its own between start and stop (or a `with`); then `codes`, `wrong` and `seconds` say what was.

    clients: each asks again when it is answered. With `rate`, requests leave at that rate instead, whoever is answered, on
    as many connections as that takes; more than MOST under way are left out, and counted as `skipped`.
    """

    MOST = 4000

    def __init__(self, port, expected, clients=16, rate=None):
        self.port, self.expected, self.clients, self.rate = port, expected, clients, rate
        self.codes, self.wrong, self.seconds, self.said, self.skipped = collections.Counter(), 0, [], {}, 0
        self.ends, self.idle = threading.Event(), []
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()

    async def run(self):
        if self.rate is None:
            await asyncio.gather(*(self.client(number) for number in range(self.clients)))
        else:
            await self.on_time()

    async def client(self, number):
        connection = None
        while not self.ends.is_set():
            number += 1
            connection = await self.ask(number, connection)
        self.close(connection)

    async def on_time(self):
        start, sent, tasks = time.monotonic(), 0, set()
        while not self.ends.is_set():
            while sent < (time.monotonic() - start) * self.rate:
                sent += 1
                if len(tasks) >= self.MOST:
                    self.skipped += 1
                    continue
                task = asyncio.ensure_future(self.ask_and_keep(sent))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.sleep(0.005)
        await asyncio.gather(*tasks)
        for connection in self.idle:
            self.close(connection)

    async def ask_and_keep(self, number):
        connection = await self.ask(number, self.idle.pop() if self.idle else None)
        if connection is not None:
            self.idle.append(connection)

    async def ask(self, number, connection):
        """One request; the connection, where it may be used again. An error of the connection counts as one answer."""
        text = TEXTS[number % len(TEXTS)]
        start = time.monotonic()
        try:
            if connection is None:
                connection = await asyncio.open_connection("127.0.0.1", self.port)
            connection[1].write(request(text))
            status, body = await asyncio.wait_for(read_answer(connection[0]), 90)
        except (OSError, EOFError, asyncio.TimeoutError) as error:
            self.codes[type(error).__name__] += 1
            self.close(connection)
            return None
        self.seconds.append(time.monotonic() - start)
        self.codes[status] += 1
        if status == 200:
            self.wrong += body != self.expected[text]
        else:
            self.said.setdefault(status, body.decode(errors="replace")[:200])
        return connection

    @staticmethod
    def close(connection):
        if connection is not None:
            connection[1].close()

    def milliseconds(self, point):
        ordered = sorted(self.seconds)
        return round(ordered[min(len(ordered) - 1, int(point * len(ordered)))] * 1000, 1) if ordered else None

    def outcome(self):
        return {"codes": {str(code): number for code, number in self.codes.items()}, "wrong": self.wrong, "said": self.said,
                "skipped": self.skipped,
                **{f"{name}_ms": self.milliseconds(point) for name, point in (("p50", 0.5), ("p99", 0.99), ("most", 1.0))}}


def expected_answers(port):
    """What each text's answer is when nothing is wrong."""
    async def ask():
        answers = {}
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for text in TEXTS:
            writer.write(request(text))
            status, answers[text] = await read_answer(reader)
            if status != 200:
                raise SystemExit(f"before any fault: status {status}: {answers[text]!r}")
        writer.close()
        return answers
    return asyncio.run(ask())


def ask_one_by_one(port, expected, count):
    """A load of one client that ends after so many answers."""
    load = Load(port, expected, clients=1)
    with load:
        while sum(load.codes.values()) < count:
            time.sleep(0.01)
    return load
