"""trellis-server as a child of a load run: started with flags, watched through /metrics and the kernel, stopped."""
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request


class Programs:
    def __init__(self, folder):
        self.server = os.path.join(folder, "trellis-server")
        self.load = os.path.join(folder, "trellis-server-load")
        for program in (self.server, self.load):
            if not os.access(program, os.X_OK):
                raise SystemExit(f"{program}: not there; build with TRELLIS_SERVE=ON and TRELLIS_BENCH=ON, and name the folder with --build")


class Server:
    """Use with `with`: ready at the start, drained and its exit status checked at the end."""

    def __init__(self, programs, engine, **flags):
        self.programs = programs
        arguments = [programs.server, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--engine", "synthetic:" + engine]
        for flag, value in flags.items():
            arguments += ["--" + flag.replace("_", "-"), str(value)]
        self.command = " ".join(["trellis-server", *arguments[5:]])
        self.child = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        self.ports = {}
        said = []
        for line in self.child.stderr:
            said.append(line)
            if match := re.search(r"(metrics|listening) on .*:(\d+)", line):
                self.ports[match[1]] = int(match[2])
            if " ready:" in line:
                break
        else:
            raise SystemExit("trellis-server did not become ready:\n" + "".join(said))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.child.send_signal(signal.SIGTERM)
        self.said_last = self.child.stderr.read()
        status = self.child.wait()
        if status != 0 and kind is None:
            raise SystemExit(f"trellis-server ended with status {status}:\n{self.said_last}")

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['metrics']}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def resident_mib(self):
        with open(f"/proc/{self.child.pid}/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    def cpu_seconds(self):
        with open(f"/proc/{self.child.pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, seconds, *streams, **flags):
        """Runs trellis-server-load to its end; its result, and how the server changed meanwhile."""
        arguments = [self.programs.load, "--target", f"127.0.0.1:{self.ports['listening']}", "--seconds", str(seconds)]
        for stream in streams:
            arguments += ["--stream", ",".join(f"{key}={value}" for key, value in stream.items())]
        for flag, value in flags.items():
            arguments += ["--" + flag.replace("_", "-"), str(value)]
        before, cpu, start = self.metrics(), self.cpu_seconds(), time.monotonic()
        with ResidentWatch(self) as watch:
            done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(done.stdout)
        result["command"] = " ".join(["trellis-server-load", *arguments[3:]])
        result["wall_seconds"] = time.monotonic() - start
        result["server_cpu_seconds"] = self.cpu_seconds() - cpu
        result["resident_mib"] = watch.samples
        after = self.metrics()
        result["metrics"] = {name: after[name] - before.get(name, 0) for name in after if name.startswith("trellis_")}
        result["streams"] = {stream["name"]: stream for stream in result["streams"]}
        return result

    GAUGES = ("trellis_queue_depth", "trellis_queue_tokens", "trellis_inflight_rows", "trellis_inflight_requests")

    def gauges_at_zero(self, patience=10):
        """The gauges that are not 0 even after `patience` seconds."""
        end = time.monotonic() + patience
        while True:
            metrics = self.metrics()
            left = {name: metrics[name] for name in self.GAUGES if metrics[name] != 0}
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.05)


class ResidentWatch:
    """Resident memory of the server a few times a second."""

    def __init__(self, server, interval=0.25):
        self.server, self.interval, self.samples, self.stop = server, interval, [], threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.stop.wait(self.interval):
            self.samples.append(round(self.server.resident_mib(), 2))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
