#!/usr/bin/env python3
"""What --completion prints, in the shells that it is for: typed at a terminal, completed by the shell, read back.

  completion_test.py [--all-shells] build/release/bin/trellis [build/release/bin/trellis-gateway ...]

The names that must be offered are those of --help. A shell that is not installed is skipped, said aloud; with --all-shells
that is a failure.
"""
import argparse
import fcntl
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

SECONDS = 60
programs = {}
all_shells = False


def printed(*command):
    return subprocess.run(command, capture_output=True, timeout=SECONDS, check=True).stdout.decode()


def options_of(program, *command):
    """The long options that --help lists."""
    text = printed(programs[program], *command, "--help")
    return {name for line in re.findall(r"^  (-\S+)", text, re.M) for name in line.split(",") if name.startswith("--")}


class Typed:
    """A shell with a terminal of its own. What it writes there is not looked at: answers go to files."""

    def __init__(self, folder, *command):
        self.reply = os.path.join(folder, "reply.txt")
        self.process, self.fd = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": folder, "LC_ALL": "C.UTF-8"}
            os.execvpe(command[0], command, environment)
        # Wide, so that no line is shown in parts.
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 10000, 0, 0))
        os.set_blocking(self.fd, False)
        self.shown = b""

    def words(self, keys):
        """The words of the line that `keys` leave behind. Control-A and Control-E: the line's ends."""
        if os.path.exists(self.reply):
            os.remove(self.reply)
        os.write(self.fd, f"{keys}\x01printf '%s\\n' \x05 > part.txt; mv part.txt reply.txt\r".encode())
        limit = time.monotonic() + SECONDS
        while not os.path.exists(self.reply):
            self.read()
            if time.monotonic() > limit:
                raise AssertionError(f"{keys!r}: no answer in {SECONDS} s, but {self.shown!r}")
            time.sleep(0.01)
        self.read()
        with open(self.reply, encoding="utf-8") as f:
            return f.read().split("\n")[:-1]

    def read(self):
        try:
            self.shown = (self.shown + os.read(self.fd, 65536))[-4000:]
        except BlockingIOError:
            pass

    def close(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.fd)


class Shell:
    """What holds in each of them; `offered(line)` is what it puts in the place of the line's last word."""

    name = None

    def setUp(self):
        if shutil.which(self.name) is None:
            if all_shells:
                self.fail(f"{self.name} is not installed, expected it with --all-shells")
            print(f"completion_test: SKIPPED: no {self.name}", flush=True)
            self.skipTest(f"no {self.name}")
        self.folder = tempfile.mkdtemp(prefix="completion_test_")
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(os.path.join(self.folder, "here_folder"))
        with open(os.path.join(self.folder, "here_file"), "w", encoding="utf-8"):
            pass
        self.scripts = []
        for program, path in programs.items():
            self.scripts.append(os.path.join(self.folder, f".{program}.{self.name}"))
            with open(self.scripts[-1], "w", encoding="utf-8") as f:
                f.write(printed(path, "--completion", self.name))

    def assert_offers(self, line, expected):
        # A shell may put a slash behind a folder, and what a value is given with behind an option.
        self.assertEqual({word.rstrip("/=") for word in self.offered(line)}, set(expected), line)

    def test_options(self):
        for program in programs:
            for command in [[]] if program != "trellis" else [[], ["encode"], ["info"], ["compile"]]:
                there = options_of(program, *command)
                self.assertGreater(len(there), 1)
                for prefix in ("--", "--m", "--no-"):
                    expected = {name for name in there if name.startswith(prefix)}
                    if len(expected) > 1 or prefix == "--":
                        self.assert_offers(" ".join([program, *command, prefix]), expected)

    def test_words(self):
        self.assert_offers("trellis encode --trie ", {"bitmap", "double-array"})
        self.assert_offers("trellis encode --trie d", {"double-array"})
        self.assert_offers("trellis encode model.json --truncation only_", {"only_first", "only_second"})
        if len(programs) > 1:
            self.assert_offers("trellis-server --dtype fl", {"float32", "float16"})
            self.assert_offers("trellis-gateway --shield --pooling l", {"last", "last-token"})

    def test_a_word_after_an_equals_sign(self):
        self.assert_offers("trellis encode --truncation-side=l", {"left"})

    def test_commands(self):
        commands = re.findall(r"^  ([a-z]+) ", printed(programs["trellis"], "--help").split("Subcommands:")[1], re.M)
        self.assertIn("compile", commands)
        self.assert_offers("trellis ", commands)
        self.assert_offers("trellis co", {"count", "compile"})

    def test_files_and_folders(self):
        self.assert_offers("trellis encode here_fi", {"here_file"})
        self.assert_offers("trellis compile here_file -o here_fi", {"here_file"})
        self.assert_offers("trellis count here_file here_file here_file here_fi", {"here_file"})
        if len(programs) > 1:
            self.assert_offers("trellis-gateway --tls-key he", {"here_file", "here_folder"})
            self.assert_offers("trellis-gateway --model he", {"here_folder"})

    def test_nothing_where_a_number_is_expected(self):
        self.assert_offers("trellis encode --threads he", set())


class AtTerminal(Shell):
    command = ()
    # Leaves the shell ready: Escape-* puts all that is offered into the line.
    settings = ""

    def setUp(self):
        super().setUp()
        self.shell = Typed(self.folder, *self.command)
        self.addCleanup(self.shell.close)
        sources = "".join(f". {script}; " for script in self.scripts)
        self.assertEqual(self.shell.words(f"{self.settings}{sources}true\r ready"), ["ready"])

    def test_a_place_of_its_own(self):
        if len(programs) > 1:
            self.assert_offers("trellis embed he", {"here_folder"})
            self.assert_offers("trellis embed here_folder here_fi", {"here_file"})
            self.assert_offers("trellis rerank here_folder he", set())

    def offered(self, line):
        typed = shlex.split(line)
        last = "" if line.endswith(" ") else typed.pop()
        words = self.shell.words(line + "\x1b*")
        self.assertEqual(words[:len(typed)], typed)
        # A word that begins as --name=value does keeps its beginning, which is not offered.
        begins, equals, _ = last.partition("=")
        return [word.removeprefix(begins + equals if equals else "") for word in words[len(typed):] if word != last]


class Bash(AtTerminal, unittest.TestCase):
    name = "bash"
    command = ("bash", "--norc", "--noprofile", "-i")
    settings = "bind 'set enable-bracketed-paste off'; "


class Zsh(AtTerminal, unittest.TestCase):
    name = "zsh"
    command = ("zsh", "-f", "-i")
    settings = ("bindkey -e; autoload -Uz compinit; compinit -u -D; zle -C every complete-word _generic; "
                "zstyle ':completion:every:*' completer _all_matches _complete; zstyle ':completion:every:*' insert true; "
                "bindkey '\\e*' every; unsetopt zle_bracketed_paste; ")


class Fish(Shell, unittest.TestCase):
    name = "fish"

    def offered(self, line):
        sources = "".join(f"source {script}; " for script in self.scripts)
        done = subprocess.run(["fish", "--no-config", "-c", f"{sources}complete -C {shlex.quote(line)}"], cwd=self.folder,
                              capture_output=True, timeout=SECONDS, check=True, env={**os.environ, "HOME": self.folder})
        begins, equals, _ = line.split(" ")[-1].partition("=")
        return [word.split("\t")[0].removeprefix(begins + equals if equals else "")
                for word in done.stdout.decode().splitlines()]


def main():
    global all_shells
    parser = argparse.ArgumentParser()
    parser.add_argument("--all-shells", action="store_true")
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    all_shells = arguments.all_shells
    programs.update((os.path.basename(path), os.path.abspath(path)) for path in arguments.programs)
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
