"""What runs of scenarios print and write: the machine, a table, which checks held."""
import json
import os
import platform
import sys


def machine():
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as cpus:
            name = next((line.split(":", 1)[1].strip() for line in cpus if line.startswith("model name")), name)
    except OSError:
        pass
    return {"processor": name, "cores": os.cpu_count(), "cores_for_this_run": len(os.sched_getaffinity(0)),
            "load": [round(load, 2) for load in os.getloadavg()], "system": platform.platform()}


def without_zeros(value):
    """The results as they are written: series that did not move say nothing."""
    if isinstance(value, dict):
        return {key: without_zeros({k: v for k, v in inner.items() if v} if key == "metrics" else inner)
                for key, inner in value.items()}
    return [without_zeros(inner) for inner in value] if isinstance(value, list) else value


def table(results):
    lines = []
    for result in results:
        lines.append(f"\n{result['scenario']}: {result['shows']}")
        rows = result["table"]
        widths = [max(len(str(row[column])) for row in rows if column < len(row) > 1) for column in range(max(map(len, rows)))]
        lines += ["  " + "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        lines += [f"  {'ok  ' if check['ok'] else 'FAIL'} {check['what']}" for check in result["checks"]]
    return "\n".join(lines) + "\n"


def finish(program, command, results, stem):
    """Writes the two files, if there is a stem, and ends the program with status 1 where a check failed."""
    if stem:
        where = machine()
        with open(stem + ".json", "w", encoding="utf-8") as f:
            json.dump({"command": command, "machine": where, "results": without_zeros(results)}, f, indent=1)
            f.write("\n")
        with open(stem + ".txt", "w", encoding="utf-8") as f:
            f.write(f"{command}\n{where['processor']}, {where['cores']} cores, {where['cores_for_this_run']} for this run; "
                    f"load {where['load']}; {where['system']}\n{table(results)}")
    failed = [check["what"] for result in results for check in result["checks"] if not check["ok"]]
    if failed:
        sys.exit(f"{program}: failed: " + "; ".join(failed))
