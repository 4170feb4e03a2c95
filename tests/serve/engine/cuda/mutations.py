"""What kernel_mutations.py and model_mutations.py share: mutations by file, how one is tried, and what is said of it."""
import argparse
import concurrent.futures
import dataclasses
import os
import re
import signal
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", ".."))


class Fault(Exception):
    """A mutation that cannot be tried, and why."""


@dataclasses.dataclass(frozen=True)
class Mutation:
    number: int
    file: str
    more: tuple  # what a script's table says of the file beside its name
    what: str
    old: str
    new: str

    def broken(self, folder):
        """The text of the file below `folder`, mutated."""
        with open(os.path.join(folder, self.file), encoding="utf-8") as file:
            text = file.read()
        if text.count(self.old) != 1:
            raise Fault(f"the text is there {text.count(self.old)} times, expected once: {self.old!r}")
        return text.replace(self.old, self.new)


def call(command, what, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise Fault(f"{what}: {(done.stdout + done.stderr).strip()[-1500:]}")


def failure(program, tests, seconds, folder):
    """How the program's tests of these names fail, or None. `seconds` are the processor's: what takes longer has no end."""
    done = subprocess.run(["prlimit", f"--cpu={seconds}", program, f"--gtest_filter={tests}", "--gtest_fail_fast", "--gtest_brief=1"],
                          cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        if not re.search(r"\[  PASSED  \] [1-9]", done.stdout):
            raise Fault(f"{tests} names no test")
        return None
    if match := re.search(r"cuda emulation: (.*)", done.stderr):
        return match[1]
    if done.returncode < 0:
        return signal.Signals(-done.returncode).name
    failed = re.search(r"\[  FAILED  \] (\S+?)[,\s]", done.stdout)
    return failed[1] if failed else f"status {done.returncode}"


def flags(doc, *options):
    """Of the command line; `options` are (name, argparse's words) of one script alone."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD", help="mutations whose file or description has it")
    parser.add_argument("--jobs", type=int, default=1)
    for name, words in options:
        parser.add_argument(name, **words)
    return parser.parse_args()


def chosen(table, only):
    """Of a table {(file, more...): [(what, text, in its place)]}."""
    rows = [(file, more, *row) for (file, *more), mutations in table.items() for row in mutations if only in f"{file} {row[0]}"]
    return [Mutation(number, file, tuple(more), *row) for number, (file, more, *row) in enumerate(rows)]


def try_all(title, wanted, how, jobs):
    """Ends the program: 0 if how(mutation) says of each how it was found. None is survival."""
    killed = faults = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for mutation, run in [(mutation, pool.submit(how, mutation)) for mutation in wanted]:
            try:
                found = run.result()
            except Fault as fault:
                faults += 1
                print(f"FAULT     {mutation.file}: {mutation.what}: {fault}", flush=True)
                continue
            killed += found is not None
            print(f"{'killed' if found else 'SURVIVED':9} {mutation.file}: {mutation.what}{f': {found}' if found else ''}", flush=True)
    print(f"{title}: {killed} of {len(wanted)} killed, {faults} could not be tried")
    sys.exit(0 if killed == len(wanted) and wanted else 1)
