"""The folder that tools/gpu_check build makes: trellis-gpu-check, the libraries that a bare machine has not, what it was built of."""
import datetime
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
NAME = "trellis-gpu-check"
MOST_BYTES = 40 << 20  # it travels with the tree, which is 17 MB; 64 MB are taken
# The C and C++ libraries, which every machine with Python and torch has, and not older than ours.
THERE = re.compile(r"^(linux-vdso|ld-linux[\w-]*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so")


def _call(command, what, **more):
    if subprocess.run(command, **more).returncode != 0:
        print(f"gpu_check: {what} failed: {' '.join(command)}", file=sys.stderr)
        sys.exit(2)


def _said(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _commit_of_tree():
    commit = _said("git", "rev-parse", "--short", "HEAD")
    if commit and _said("git", "status", "--porcelain", "--untracked-files=no"):
        commit += " with changes"
    return commit or "unknown"


def _libraries(program):
    """Paths of those that are not everywhere."""
    listed = _said("ldd", program)
    if missing := re.findall(r"(\S+) => not found", listed):
        print(f"gpu_check: {program}: not found: {', '.join(missing)}", file=sys.stderr)
        sys.exit(2)
    return [path for name, path in re.findall(r"^\s*(\S+) => (\S+)", listed, re.MULTILINE) if not THERE.match(name)]


def build(folder, toolkit):
    """Makes the folder and returns its program; what is missing ends this one, by name."""
    for tool, package in (("cmake", "cmake"), ("ninja", "ninja-build"), ("c++", "g++"), ("strip", "binutils"), ("ldd", "libc-bin")):
        if shutil.which(tool) is None:
            print(f"gpu_check: {folder} cannot be made here without {tool} (Debian: {package}): `tools/gpu_check build` on a machine "
                  "that has it, and take the folder along", file=sys.stderr)
            sys.exit(2)
    if not os.path.exists(os.path.join(toolkit, "bin", "nvcc")):
        _call([os.path.join(ROOT, "tools", "fetch_cuda"), toolkit], "fetching nvcc")
    made = folder + "_build"
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    # The release preset's flags: what it has compiled need not be compiled again.
    _call(["cmake", "--preset", "release", "-B", made, "-DTRELLIS_GPU_CHECK=ON", "-DTRELLIS_CUDA=ON",
           f"-DTRELLIS_CUDA_TOOLKIT={os.path.abspath(toolkit)}", *(f"-DTRELLIS_{part}=OFF" for part in ("SERVE", "TESTS", "BENCH", "TOOLS", "INSTALL")),
           *launcher], "configuring", stdout=sys.stderr, cwd=ROOT)
    jobs = str(len(os.sched_getaffinity(0)))
    _call(["cmake", "--build", made, "-j", jobs, "--target", "trellis_gpu_check"], "building", stdout=sys.stderr,
          env={**os.environ, "CCACHE_BASEDIR": ROOT, "CCACHE_NOHASHDIR": "1"})
    program_there = os.path.join(made, "bin", NAME)
    fresh = folder + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(os.path.join(fresh, "lib"))
    for library in _libraries(program_there):
        shutil.copy(library, os.path.join(fresh, "lib", os.path.basename(library)))
    _call(["strip", "-o", os.path.join(fresh, NAME), program_there], "stripping")
    with open(os.path.join(fresh, "built.json"), "w", encoding="utf-8") as file:
        json.dump({"commit": _commit_of_tree(), "date": str(datetime.date.today()), "compiler": _said("c++", "--version").split("\n")[0],
                   "nvcc": (_said(os.path.join(toolkit, "bin", "nvcc"), "--version").split("\n") or [""])[-1]}, file, indent=1)
    size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(fresh) for name in names)
    if size > MOST_BYTES:
        print(f"gpu_check: {fresh}: {size >> 20} MiB, expected at most {MOST_BYTES >> 20}", file=sys.stderr)
        sys.exit(2)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(fresh, folder)
    print(f"{folder}: {size >> 20} MiB", file=sys.stderr)
    return os.path.join(folder, NAME)


def program(folder):
    """The one that build has made, if it has."""
    path = os.path.join(folder, NAME)
    if not os.path.exists(path):
        return None
    if not os.access(path, os.X_OK):  # not every copy keeps that
        os.chmod(path, 0o755)
    return path


def built(path):
    """What the program at this path was built of: commit, date, compilers. One of another build: of this tree."""
    try:
        with open(os.path.join(os.path.dirname(path), "built.json"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {"commit": _commit_of_tree()}
