"""A server that speaks a gateway's protocol and has the faults it is told to have. A text's vector is known: its length, and
the first three characters."""
import base64
import contextlib
import http.server
import json
import socket
import threading

import numpy


def vector_of(text):
    return [float(len(text)), *(float(ord(character)) for character in text[:3].ljust(3, "\0"))]


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """Clients leave; that is their test's business."""


class FakeGateway:
    """fault(number, texts) -> None, or (status, headers, body), or "close": of each request, counted from 0."""

    def __init__(self, info=None, fault=lambda number, texts: None):
        self.info, self.fault = info, fault
        self.requests, self.headers, self.at_once, self.most_at_once, self.finished = [], [], 0, 0, 0
        self._lock, self._connections = threading.Lock(), []

    def answer(self, body):
        texts = body["input"]
        with self._lock:
            number = len(self.requests)
            self.requests.append(texts)
        if (fault := self.fault(number, texts)) is not None:
            return fault
        data = [{"index": place, "embedding": base64.b64encode(numpy.array(vector_of(text), "<f4").tobytes()).decode()}
                for place, text in enumerate(texts)]
        return 200, {}, {"data": data[::-1], "usage": {"prompt_tokens": sum(map(len, texts))}}

    @contextlib.contextmanager
    def running(self, port=0):
        server = Server(("127.0.0.1", port), self._answering())
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
            with self._lock:  # or those that are kept would go on
                for connection in self._connections:
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
            server.server_close()

    def _answering(self):
        fake = self

        class Answering(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                with fake._lock:
                    fake._connections.append(self.connection)

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.send(*((404, {}, {"error": "no such path"}) if fake.info is None else (200, {}, fake.info)))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with fake._lock:
                    fake.headers.append(dict(self.headers))
                    fake.at_once += 1
                    fake.most_at_once = max(fake.most_at_once, fake.at_once)
                try:
                    answer = fake.answer(body)
                    if answer == "close":
                        self.close_connection = True
                    else:
                        self.send(*answer)
                finally:
                    with fake._lock:
                        fake.at_once -= 1
                        fake.finished += 1

            def send(self, status, headers, body):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = self.close_connection or "Content-Length" in headers

        return Answering


def refused(message, param=None, status=400):
    return status, {}, {"error": {"message": message, "type": "", "param": param, "code": ""}}
