"""What the run is on: the machine, its GPU, the packages; and where torch has its cuBLASLt."""
import glob
import importlib.metadata
import importlib.util
import os
import platform
import subprocess

PACKAGES = ["torch", "transformers", "vllm", "numpy", "safetensors", "triton", "nvidia-cublas", "nvidia-cublas-cu12"]
ASKED = ["name", "driver_version", "compute_cap", "memory.total"]


def gpu():
    """The first GPU as nvidia-smi has it, or why there is none."""
    try:
        asked = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader"], capture_output=True,
                               text=True, timeout=60)
    except FileNotFoundError:
        return None, "there is no nvidia-smi, so no driver"
    except subprocess.TimeoutExpired:
        return None, "nvidia-smi does not answer"
    if asked.returncode != 0 or not asked.stdout.strip():
        return None, f"nvidia-smi: {(asked.stdout + asked.stderr).strip()[-300:] or 'lists none'}"
    values = [value.strip() for value in asked.stdout.splitlines()[0].split(",")]
    if len(values) != len(ASKED):
        return None, f"nvidia-smi: {asked.stdout.splitlines()[0]!r}, expected {', '.join(ASKED)}"
    return dict(zip(("name", "driver", "compute", "memory"), values)), None


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    except OSError:
        return platform.machine()


def versions():
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def describe(graphics):
    return {"gpu": graphics, "processor": processor(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
            "load": [round(load, 1) for load in os.getloadavg()], "versions": versions()}


def importable(package):
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def cublaslt():
    """Of TRELLIS_CUBLASLT, or beside torch; None: the loader may know one."""
    if named := os.environ.get("TRELLIS_CUBLASLT"):
        return named
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return None
    packages = os.path.dirname(os.path.dirname(spec.origin))
    for major in (13, 12):
        for folder in ("nvidia/*/lib", "nvidia/*/*/lib", "torch/lib"):
            if found := sorted(glob.glob(os.path.join(packages, folder, f"libcublasLt.so.{major}"))):
                return found[0]
    return None
