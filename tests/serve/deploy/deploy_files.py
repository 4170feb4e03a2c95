"""What lies in serve/deploy, read: YAML, the Dockerfile's stages, and the commands that each of them gives a program."""
import json
import os
import pathlib
import re
import subprocess

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "serve" / "deploy"
PROGRAMS = {"gateway": "trellis-gateway", "server": "trellis-server"}


def manifests():
    """(file's name, object) of every object for Kubernetes."""
    for path in sorted((DEPLOY / "kubernetes").iterdir()):
        for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            yield path.name, manifest


def compose_text(environment):
    """compose.yaml with its ${NAME...} as a shell with `environment` would leave them."""
    def value(match):
        name, operator, rest = match[1], match[2], match[3]
        if environment.get(name):
            return environment[name]
        assert operator == ":-", f"compose.yaml wants {name}: {rest}"
        return rest
    return re.sub(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}", value, (DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


class Dockerfile:
    """Stages by name, each with its instructions; one that is built on another has that one's too."""

    def __init__(self):
        self.stages, self.bases = {}, set()
        text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
        lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
        current = None
        for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).split("\n"):
            instruction, rest = line.split(None, 1)
            if instruction == "FROM":
                base, name = re.fullmatch(r"(\S+) AS (\S+)", rest).groups()
                if base not in self.stages:
                    self.bases.add(base)
                current = self.stages[name] = list(self.stages.get(base, []))
            else:
                current.append((instruction, rest))

    def all(self, stage, instruction):
        return [rest for name, rest in self.stages[stage] if name == instruction]

    def environment(self, stage):
        return dict(pair.split("=", 1) for rest in self.all(stage, "ENV") for pair in rest.split())

    def entrypoint(self, stage):
        return json.loads(self.all(stage, "ENTRYPOINT")[-1])

    def packages(self, stage):
        runs = [rest for rest in self.all(stage, "RUN") if "apt-get install" in rest]
        words = " ".join(runs).split("apt-get install", 1)[1].split("&&")[0].split()
        return {word for word in words if not word.startswith("-")}


def copied(rest, ignored):
    """Sources of a COPY from the tree, none of which the .dockerignore holds back."""
    sources = rest.split()[:-1]
    kept = [line[1:] for line in ignored if line.startswith("!")]
    for source in sources:
        assert any(f"{source}/".startswith(f"{path}/") for path in kept), f"COPY {source}: expected it in Dockerfile.dockerignore"
    return sources


class Flags:
    """Names of a program's options, and of the variables that each may come from, as its --help has them."""

    def __init__(self, program):
        said = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
        self.names = set(re.findall(r"^ +(?:-\w,)?(--[\w-]+)", said, re.M))
        self.variables = set(re.findall(r"\(Env:(TRELLIS_\w+)\)", said))
        assert len(self.names) > 10 and len(self.variables) > 10, said

    def check(self, where, arguments, environment):
        for word in arguments:
            if word.startswith("--"):
                assert word.split("=")[0] in self.names, f"{where}: {word}, expected one of {sorted(self.names)}"
        for name in environment:
            if name.startswith("TRELLIS_"):
                assert name in self.variables, f"{where}: {name}, expected one of {sorted(self.variables)}"


def program_environment(environment):
    """For a program that is to see these settings and none of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRELLIS_")}
    return {**kept, **environment}
