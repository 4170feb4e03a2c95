"""The services of compose.yaml without Docker: each command as a program of this machine, on ports that are free here."""
import contextlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import yaml

from deploy_files import DEPLOY, PROGRAMS, ROOT, Dockerfile, compose_text, program_environment

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gateway" / "clients"))

MODEL = ROOT / "tests" / "serve" / "models" / "tiny-bert"
KEY = "a key of this test"
SECONDS = 120


def services(environment):
    return yaml.safe_load(compose_text(environment))["services"]


class Service:
    def __init__(self, build, stage, command, settings):
        environment = {**Dockerfile().environment(stage), **settings}
        # What stands in the image is of the image: its folder, and ports that may be taken here.
        environment = {name: value.replace("/model", str(MODEL)).replace("0.0.0.0", "127.0.0.1")
                       for name, value in environment.items()}
        for name in ("TRELLIS_LISTEN", "TRELLIS_METRICS_LISTEN"):
            if name in environment:
                environment[name] = re.sub(r":\d+$", ":0", environment[name])
        if stage == "gateway":
            environment["TRELLIS_PORT"] = "0"
        self.stage = stage
        self.said = []
        self.process = subprocess.Popen(
            [build / "bin" / PROGRAMS[stage], *[word.replace("/model", str(MODEL)) for word in command]],
            env=program_environment(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stdout))
        self.reader.start()

    def address(self, what="listening on"):
        """Where it said that it listens."""
        def found():
            return next((match[0] for line in list(self.said) if what in line
                         if (match := re.search(r"127\.0\.0\.1:[1-9]\d*", line))), None)
        return wait(f"where {self.stage} listens", found, lambda: "".join(self.said))

    def healthy(self):
        check = json.loads(Dockerfile().all(self.stage, "HEALTHCHECK")[-1].split("CMD ", 1)[1])
        assert check[0] == "healthcheck"
        return subprocess.run([DEPLOY / "healthcheck", *check[1:], self.address()], capture_output=True).returncode == 0

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(SECONDS)
        self.reader.join()
        return status


def wait(what, condition, said=lambda: ""):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if (value := condition()):
            return value
        time.sleep(0.05)
    raise AssertionError(f"never: {what}\n{said()}")


def embed(address, key=KEY):
    request = urllib.request.Request(f"http://{address}/embed", json.dumps({"inputs": "water"}).encode(),
                                     {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        [vector] = json.load(answer)
    return vector


def services_run_as_composed(build):
    """And the healthcheck of the image says so; a server that is killed costs its clients nothing."""
    told = services({"TRELLIS_MODEL_FOLDER": str(MODEL), "TRELLIS_API_KEY": KEY})
    reference = json.loads((MODEL / "reference.json").read_text(encoding="utf-8"))
    with contextlib.ExitStack() as running:
        def start(service, command):
            one = Service(build, service["build"]["target"], command, service.get("environment", {}))
            running.callback(lambda: (one.process.kill(), one.process.wait(), one.reader.join()))
            return one
        servers = {name: start(service, service["command"]) for name, service in told.items()
                   if service["build"]["target"] == "server"}
        assert len(servers) == 2
        for name, server in servers.items():
            wait(f"{name} healthy", server.healthy, lambda: "".join(server.said))
        command = told["gateway"]["command"]
        for name, server in servers.items():
            command = [word.replace(f"{name}:50051", server.address()) for word in command]
        gateway = start(told["gateway"], command)
        wait("gateway healthy", gateway.healthy, lambda: "".join(gateway.said))
        first = embed(gateway.address())
        assert len(first) == len(reference["texts"][0]["embedding"])
        with urllib.request.urlopen(f"http://{gateway.address()}/metrics") as metrics:
            assert metrics.read().decode().count("trellis_replica_up{replica=") == 2
        # What the autoscaler asks for is what servers say.
        wanted = yaml.safe_load((DEPLOY / "kubernetes" / "autoscaling.yaml").read_text(encoding="utf-8"))
        name = wanted["spec"]["metrics"][0]["pods"]["metric"]["name"]
        one = next(iter(servers.values()))
        with urllib.request.urlopen(f"http://{one.address('metrics on')}/metrics") as metrics:
            assert f"\n{name} " in metrics.read().decode(), name
        assert one.end(signal.SIGKILL) == -signal.SIGKILL
        for _ in range(50):
            assert embed(gateway.address()) == first
        assert not one.healthy(), "the check of a program that is gone"
        for service in (gateway, *servers.values()):
            if service is not one:
                assert service.end() == 0, "".join(service.said)
