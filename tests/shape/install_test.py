#!/usr/bin/env python3
"""A consumer outside the tree, built and run against what `cmake --install` gives and against the sources.

  install_test.py WAY --source ROOT --build BUILD --cxx COMPILER [--launcher ccache]

WAY: package   installs BUILD into a folder, moves the folder, then find_package and pkg-config
     sources   add_subdirectory, a static library
     shared    add_subdirectory with BUILD_SHARED_LIBS and TRELLIS_INSTALL, then find_package and pkg-config on that
Ids and decoded text are the reference's, from tests/cli/expected.jsonl.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TEXT = "hello world"


def expect(condition, what):
    if not condition:
        sys.exit(f"install_test: {what}")


def run(*command, **more):
    print("+", *command, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1200, **more)
    expect(done.returncode == 0, f"status {done.returncode} of {' '.join(command)}:\n{done.stdout}")
    return done.stdout


class Consumer:
    def __init__(self, arguments, folder):
        self.source, self.folder = os.path.abspath(arguments.source), folder
        self.cxx, self.launcher = arguments.cxx, arguments.launcher
        self.consumer = os.path.join(self.source, "tests", "shape", "installed")
        with open(os.path.join(self.source, "CMakeLists.txt"), encoding="utf-8") as f:
            self.version = re.search(r"project\(trellis VERSION (\S+)", f.read())[1]
        self.expected = self.reference_output()

    def reference_output(self):
        with open(os.path.join(self.source, "tests", "cli", "expected.jsonl"), encoding="utf-8") as f:
            rows = [row for row in map(json.loads, f) if row["model"] == "tiny"]
        ids = next(row["ids"] for row in rows if row.get("request") == {"text": TEXT})
        decoded = next(row["decoded_skip_special"] for row in rows if row.get("decode_ids") == ids)
        return " ".join(map(str, ids)) + "\n" + decoded + "\n"

    def encodes(self, program, how, **more):
        model = os.path.join(self.source, "tests", "cli", "tiny.json")
        got = run(program, model, TEXT, **more)
        expect(got == self.expected, f"{how}: the consumer prints {got!r}, expected {self.expected!r}")

    def cmake(self, name, *options):
        """Builds the consumer with CMake; its build folder."""
        build = os.path.join(self.folder, name)
        # Not optimized: what is tested is that it links and runs.
        run("cmake", "-S", self.consumer, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={self.cxx}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={self.launcher}", "-DCMAKE_BUILD_TYPE=Debug",
            "-DCMAKE_CXX_FLAGS_DEBUG=-O0", *options)
        run("cmake", "--build", build)
        self.encodes(os.path.join(build, "encode_one"), name)
        return build

    def installed(self, build, *pkg_config_flags):
        """Installs a build, checks what is there, moves it, and uses it from there."""
        first, prefix = os.path.join(self.folder, "first"), os.path.join(self.folder, "moved")
        run("cmake", "--install", build, "--prefix", first)
        os.rename(first, prefix)
        self.same_headers(prefix)
        self.names_no_folder(prefix, (first, build, self.source))
        self.cmake("find_package", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF")
        self.pkg_config(prefix, *pkg_config_flags)
        return prefix

    def same_headers(self, prefix):
        def headers(root):
            return {os.path.relpath(os.path.join(folder, leaf), root)
                    for folder, _, leaves in os.walk(root) for leaf in leaves}
        published, got = headers(os.path.join(self.source, "include")), headers(os.path.join(prefix, "include"))
        expect(got == published, f"installed headers differ from include/: {sorted(got ^ published)}")

    def names_no_folder(self, prefix, folders):
        for where, _, leaves in os.walk(prefix):
            for leaf in (leaf for leaf in leaves if leaf.endswith((".cmake", ".pc"))):
                with open(os.path.join(where, leaf), encoding="utf-8") as f:
                    text = f.read()
                for folder in folders:
                    expect(folder not in text, f"{leaf} names {folder}, which users do not have")

    def pkg_config(self, prefix, *flags):
        found = [where for where, _, leaves in os.walk(prefix) if "trellis.pc" in leaves]
        expect(len(found) == 1, f"trellis.pc is in {found}, expected one place")
        environment = {**os.environ, "PKG_CONFIG_PATH": found[0], "LD_LIBRARY_PATH": os.path.dirname(found[0])}
        modversion = run("pkg-config", "--modversion", "trellis", env=environment).strip()
        expect(modversion == self.version, f"trellis.pc says version {modversion}, CMakeLists.txt {self.version}")
        options = run("pkg-config", "--cflags", "--libs", *flags, "trellis", env=environment).split()
        program = os.path.join(self.folder, "by_pkg_config")
        at = next(i for i, option in enumerate(options) if option.startswith(("-L", "-l")))
        run(self.cxx, "-std=c++20", *options[:at], os.path.join(self.consumer, "encode_one.cc"), "-o", program,
            *options[at:])
        self.encodes(program, "pkg-config", env=environment)
        if os.path.exists(os.path.join(found[0], "trellis_c.pc")):
            self.c_example(environment)

    def c_example(self, environment):
        """The example in C, which needs a C compiler and libtrellis_c and nothing else."""
        options = run("pkg-config", "--cflags", "--libs", "trellis_c", env=environment).split()
        program = os.path.join(self.folder, "encode_lines")
        run("cc", "-std=c11", os.path.join(self.source, "tools", "examples", "encode_lines.c"), "-o", program, *options)
        done = subprocess.run([program, os.path.join(self.source, "tests", "cli", "tiny.json")], input=TEXT + "\n",
                              stdout=subprocess.PIPE, text=True, timeout=60,
                              env={**environment, "LD_LIBRARY_PATH": os.path.dirname(environment["PKG_CONFIG_PATH"])})
        expected = self.expected.split("\n")[0] + "\n"
        expect(done.stdout == expected, f"the example in C prints {done.stdout!r}, expected {expected!r}")

    def package(self, build):
        # In a static library's place a shared one serves as well: this is whatever BUILD has.
        prefix = self.installed(build, "--static")
        program = os.path.join(prefix, "bin", "trellis")
        if os.path.exists(program):
            said = run(program, "--version").strip()
            expect(said == f"trellis {self.version}", f"bin/trellis --version says {said}, CMakeLists.txt {self.version}")
        self.completions(prefix)

    def completions(self, prefix):
        """Of each program that is installed, where the shells look."""
        for name in os.listdir(os.path.join(prefix, "bin")) if os.path.isdir(os.path.join(prefix, "bin")) else []:
            for shell, path in (("bash", f"bash-completion/completions/{name}"), ("zsh", f"zsh/site-functions/_{name}"),
                                ("fish", f"fish/vendor_completions.d/{name}.fish")):
                with open(os.path.join(prefix, "share", path), encoding="utf-8") as f:
                    printed = run(os.path.join(prefix, "bin", name), "--completion", shell)
                    expect(f.read() == printed, f"share/{path} is not what bin/{name} --completion {shell} prints")

    def sources(self, _):
        self.cmake("add_subdirectory", f"-DTRELLIS_SOURCE={self.source}")

    def shared(self, _):
        build = self.cmake("add_subdirectory", f"-DTRELLIS_SOURCE={self.source}", "-DBUILD_SHARED_LIBS=ON",
                           "-DTRELLIS_INSTALL=ON")
        prefix = self.installed(build)
        libraries = {leaf for _, _, leaves in os.walk(prefix) for leaf in leaves if leaf.startswith("libtrellis")}
        expect("libtrellis.so" in libraries and "libtrellis.a" not in libraries, f"installed: {sorted(libraries)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=["package", "sources", "shared"])
    parser.add_argument("--source", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--launcher", default="")
    arguments = parser.parse_args()
    # Below the build folder and not beside other temporary files: nothing of the source tree lies above it.
    # A relative CMAKE_PREFIX_PATH finds nothing.
    arguments.source, arguments.build = os.path.abspath(arguments.source), os.path.abspath(arguments.build)
    folder = tempfile.mkdtemp(prefix=f"install_test_{arguments.way}_", dir=arguments.build)
    try:
        getattr(Consumer(arguments, folder), arguments.way)(os.path.abspath(arguments.build))
    finally:
        shutil.rmtree(folder)
    print(f"install_test: {arguments.way} works")


if __name__ == "__main__":
    main()
