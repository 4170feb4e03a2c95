"""A virtual environment in .venv for the scripts that need Python packages (references, never the product)."""
import importlib.metadata
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, ".venv")


def _has(requirement):
    name, version = requirement.split("==")
    try:
        return importlib.metadata.version(name) == version
    except importlib.metadata.PackageNotFoundError:
        return False


def run_with(*requirements):
    """Returns at once when this python has `requirements` (name==version); else runs the script again in .venv."""
    if all(_has(r) for r in requirements):
        return
    python = os.path.join(FOLDER, "bin", "python")
    if os.path.realpath(sys.prefix) == os.path.realpath(FOLDER) or not os.path.exists(python):
        print(f"installing {', '.join(requirements)} into {FOLDER}", file=sys.stderr, flush=True)
    if not os.path.exists(python):
        if subprocess.run([sys.executable, "-m", "venv", FOLDER]).returncode != 0:
            sys.exit(f"cannot make {FOLDER}. On Debian and Ubuntu: apt-get install python3-venv (as root), then run again.")
    if subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:",
                       *requirements], stdin=subprocess.DEVNULL).returncode != 0:
        sys.exit(f"pip could not install {', '.join(requirements)} into {FOLDER}; is a Python package index reachable?")
    if os.path.realpath(sys.prefix) == os.path.realpath(FOLDER):
        return
    os.execv(python, [python, *sys.argv])
