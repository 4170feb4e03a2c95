#!/usr/bin/env python3
"""One version: CMakeLists.txt's project(VERSION) is what all else says.

  version_test.py --source ROOT --build BUILD [--library LIBRARY] [PROGRAM...]

LIBRARY is libtrellis_c.so. Each PROGRAM is asked --version.
"""
import argparse
import ctypes
import os
import re
import subprocess
import sys

faults = []


def expect(got, expected, what):
    if got != expected:
        faults.append(f"{what}: {got!r}, expected {expected!r}")


def found(root, path, pattern):
    """What a file of the tree or of the build says, each time that it does."""
    with open(os.path.join(root, path), encoding="utf-8") as f:
        got = re.findall(pattern, f.read(), re.M)
    if not got:
        faults.append(f"{path}: nothing like {pattern}, expected a version")
    return got


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--library")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    [version] = found(arguments.source, "CMakeLists.txt", r"^project\(trellis VERSION (\d+\.\d+\.\d+) ")

    for program in arguments.programs:
        said = subprocess.run([program, "--version"], capture_output=True, timeout=60, check=True).stdout.decode()
        expect(said, f"{os.path.basename(program)} {version}\n", f"{program} --version")
    if arguments.library:
        function = ctypes.CDLL(arguments.library).trellis_version
        function.restype = ctypes.c_char_p
        expect(function().decode(), version, "trellis_version()")

    installed = os.path.join(arguments.build, "installed")
    if os.path.isdir(installed):
        for leaf, pattern in (("trellis.pc", r"^Version: (.+)$"), ("trellis_c.pc", r"^Version: (.+)$"),
                              ("trellisConfigVersion.cmake", r'^set\(PACKAGE_VERSION "(.+)"\)')):
            if leaf != "trellis_c.pc" or arguments.library:
                expect(found(installed, leaf, pattern), [version], leaf)

    # Names of images, and what is called the present version.
    for path in ("serve/deploy/Dockerfile", "serve/deploy/compose.yaml", "serve/deploy/kubernetes/gateway.yaml",
                 "serve/deploy/kubernetes/servers.yaml"):
        for said in found(arguments.source, path, r"(?:image: |-t )trellis-(?:gateway|server):([\w.]+)"):
            expect(said, version, path)
    expect(found(arguments.source, "CHANGELOG.md", r"^## \[?(\d[\w.]*)")[:1], [version], "CHANGELOG.md, its first version")
    expect(found(arguments.source, "README.md", r"find_package\(trellis ([\d.]+)")[:1],
           [version.rsplit(".", 1)[0]], "README.md, find_package")
    for fault in faults:
        print(f"version_test: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
