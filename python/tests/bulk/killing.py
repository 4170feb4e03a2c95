"""A job whose processes are killed while they work: what holds of it is the same on every engine."""
import os
import re
import signal
import subprocess
import sys
import threading
import time

from written import SINGLE, rows_of, write_lines

COPIES = 60
OPTIONS = {"add_special_tokens": False, "keep": ["id:int64"], "part_bytes": 400_000, "show_progress": False}
ARGUMENTS = ["--no-special-tokens", "--keep", "id:int64", "--part-bytes", "400000"]
SECONDS = 600  # on a busy machine


def write_input(folder):
    """Two files; ids count on through both."""
    texts = [case.row["text"] for case in SINGLE] * COPIES
    half = len(texts) // 3
    write_lines(folder / "a.jsonl", [{"id": i, "text": text} for i, text in enumerate(texts[:half])])
    write_lines(folder / "b.jsonl", [{"id": i, "text": text} for i, text in enumerate(texts[half:], half)])
    return folder


def assert_whole(output, report):
    """Every row once, with the reference's ids; and nothing else is in the folder."""
    rows = rows_of(output)
    assert [row["id"] for row in rows] == list(range(len(SINGLE) * COPIES))
    want = [case.row["ids"] for case in SINGLE] * COPIES
    assert [row["ids"] for row in rows] == want
    assert (report.rows, report.tokens, report.errors) == (len(want), sum(map(len, want)), {})
    assert not list(output.glob(".part-*"))


def kill_workers(output, job, times):
    """Runs job in a thread, and `times` kills the process that is writing a part. The job's report."""
    reports, failed, killed = [], [], set()

    def run():
        try:
            reports.append(job())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until = time.monotonic() + SECONDS
    while thread.is_alive() and time.monotonic() < until:
        for name in os.listdir(output) if output.exists() and len(killed) < times else []:
            writer = re.fullmatch(r"\.part-\d+\.parquet\..*-(\d+)-[0-9a-f]+\.tmp", name)
            if writer and (process := int(writer[1])) not in killed and process != os.getpid():
                os.kill(process, signal.SIGKILL)
                killed.add(process)
                break
        time.sleep(0.002)
    thread.join(1)
    assert not failed, failed[0]
    assert not thread.is_alive() and len(killed) == times, f"killed {len(killed)} workers"
    return reports[0]


def kill_driver(module, arguments, source, output, model):
    """Runs the engine's command, and kills it when some parts are there and others are not."""
    command = [sys.executable, "-m", module, "tokenize", "--model", model, *ARGUMENTS, *arguments, source, output]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = []
    reader = threading.Thread(target=lambda: said.extend(process.stderr), daemon=True)
    reader.start()
    until = time.monotonic() + SECONDS
    while len(list(output.glob("part-*"))) < 2 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    assert process.poll() is None, "".join(said)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return command
