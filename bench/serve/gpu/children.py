"""Programs that say what they find in lines of JSON, run with a limit; what they said before they ended badly is kept."""
import json
import os
import signal
import subprocess


class Said:
    """lines: objects of JSON; failure: why it did not end well, or None."""

    def __init__(self, lines, failure):
        self.lines, self.failure = lines, failure

    def of(self, part, **having):
        return [line for line in self.lines
                if line.get("part") == part and all(line.get(key) == value for key, value in having.items())]


def run(command, limit, log, environment=None):
    """In a session of its own, all of which ends with it. What it says beside JSON goes to the file `log`, appended."""
    with open(log, "ab") as errors:
        errors.write(f"$ {' '.join(command)}\n".encode())
        errors.flush()
        begin = errors.tell()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, start_new_session=True,
                                 env={**os.environ, **(environment or {})})
        late = False
        try:
            output, _ = child.communicate(timeout=max(1, limit))
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(child.pid, signal.SIGKILL)
            output, _ = child.communicate()
    lines = []
    with open(log, "ab") as rest:
        for line in output.decode("utf-8", "replace").splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:  # a library's own talk, or a line that was cut off
                rest.write(f"{line}\n".encode())
    if late:
        return Said(lines, f"stopped after {limit:.0f} s")
    if child.returncode == 0:
        return Said(lines, None)
    with open(log, "rb") as errors:
        errors.seek(begin)
        last = errors.read().decode("utf-8", "replace").strip().splitlines()
    how = f"ended by signal {-child.returncode}" if child.returncode < 0 else f"ended with status {child.returncode}"
    return Said(lines, f"{how}: {last[-1][:400]}" if last else how)
