"""A TCP proxy before one server, which passes everything on until it is told to spoil what comes back for rows.

gRPC's health checks have a connection of their own, and pass: so the server looks well, and only its answers are not.
"""
import asyncio
import random
import socket
import struct
import threading

ROWS = b"/trellis.v1.Inference/Infer"


class FaultyProxy:
    """Use with `with`. `mode`: pass; garbage: other bytes than the server's; half: half of them, then the end; reset;
    stuck: nothing, from then on for as long as the connection lasts."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.server, self.mode, self.spoilt = (host, int(port)), "pass", 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self):
        self.thread.start()
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.serve, "127.0.0.1", 0), self.loop).result()
        self.address = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_):
        async def end():
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
        asyncio.run_coroutine_threadsafe(end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def serve(self, reader, writer):
        try:
            server_reader, server_writer = await asyncio.open_connection(*self.server)
        except OSError:
            return writer.close()
        asks_rows = asyncio.Event()
        try:
            await asyncio.gather(self.forward(reader, server_writer, asks_rows), self.back(server_reader, writer, asks_rows),
                                 return_exceptions=True)
        except asyncio.CancelledError:
            pass  # the end of the proxy; asyncio would report it as a fault
        for end in (writer, server_writer):
            end.close()

    async def forward(self, reader, writer, asks_rows):
        while part := await reader.read(65536):
            if ROWS in part:
                asks_rows.set()
            writer.write(part)
            await writer.drain()
        writer.close()

    async def back(self, reader, writer, asks_rows):
        while part := await reader.read(65536):
            if self.mode != "pass" and asks_rows.is_set():
                self.spoilt += 1
                if self.mode == "garbage":
                    part = random.Random(1).randbytes(len(part))  # the same, or its first bytes might be a frame to wait for
                elif self.mode == "half":
                    writer.write(part[:len(part) // 2])
                    return writer.close()
                elif self.mode == "stuck":
                    while await reader.read(65536):
                        pass
                    return writer.close()
                else:
                    # Without lingering a close is a reset.
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return writer.transport.abort()
            writer.write(part)
            await writer.drain()
        writer.close()
