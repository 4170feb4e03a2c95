"""trellis-gateway before trellis-servers with the synthetic engine, as children that a fault run may kill, stop and start."""
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = os.path.join(ROOT, "tests", "serve", "models", "tiny-bert")
# The sizes of that model, so that the gateway's ids are the engine's.
SIZES = "dimensions=36,vocab=272,type_vocab=2,max_row_tokens=64"
START_SECONDS = 120  # a sanitizer makes all of it slower


class Program:
    """A child whose log is read as it comes. Use with `with`: ended hard if it is still there."""

    def __init__(self, command, ready):
        self.command, self.ready, self.child, self.ports, self.said = command, ready, None, {}, []
        self.start()

    def start(self):
        self.child = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True)
        seen = threading.Event()
        self.reader = threading.Thread(target=self.read, args=(self.child.stderr, seen), daemon=True)
        self.reader.start()
        if not seen.wait(START_SECONDS) or self.child.poll() is not None:
            raise SystemExit(f"{self.command[0]} did not become ready:\n" + "".join(self.said))

    def read(self, lines, seen):
        for line in lines:
            self.said.append(line)
            if match := re.search(r"(metrics|listening) on .*:(\d+)", line):
                self.ports[match[1]] = int(match[2])
            if re.search(self.ready, line):
                seen.set()
        seen.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.kill()
        self.child.wait()
        self.reader.join()

    def signal(self, number):
        self.child.send_signal(number)

    def drain(self):
        """SIGTERM; its exit status, -9 where it had to be killed."""
        self.child.terminate()
        try:
            return self.child.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            return self.child.wait()

    def kill(self):
        self.child.kill()
        self.child.wait()

    def metrics(self):
        port = self.ports.get("metrics", self.ports["listening"])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def resident_mib(self):
        with open(f"/proc/{self.child.pid}/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def program(build, name):
    path = os.path.join(build, "bin", name)
    if not os.access(path, os.X_OK):
        raise SystemExit(f"{path}: not there; build with TRELLIS_SERVE=ON, and name the folder with --build")
    return path


class Server(Program):
    def __init__(self, build, engine, **flags):
        more = [word for flag, value in flags.items() for word in ("--" + flag.replace("_", "-"), str(value))]
        super().__init__([program(build, "trellis-server"), "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--engine",
                          f"synthetic:{SIZES},{engine}", *more], " ready:")
        self.address = f"127.0.0.1:{self.ports['listening']}"

    def restart(self):
        """At the same address, as whoever restarts it in place does."""
        self.command[self.command.index("--listen") + 1] = self.address
        self.start()


class Gateway(Program):
    def __init__(self, build, backends, **flags):
        more = [word for flag, value in flags.items() for word in ("--" + flag.replace("_", "-"), str(value))]
        super().__init__([program(build, "trellis-gateway"), "--model", MODEL, "--port", "0", "--access-log", "false", "--backend",
                          ",".join(backends), *more], "ready on")
        self.port = self.ports["listening"]

    def up(self, address):
        return self.metrics().get(f'trellis_replica_up{{replica="{address}"}}', 0) == 1


def wait_until(holds, seconds=30):
    """Whether it came to hold; how long it took."""
    start = time.monotonic()
    while not holds():
        if time.monotonic() - start > seconds:
            return False, seconds
        time.sleep(0.02)
    return True, time.monotonic() - start
