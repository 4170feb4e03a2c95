"""The result of engine_peers.py as text."""

# A run whose threads got less than this part of their cores shared them with something else.
QUIET = 0.93


def best(packings):
    """The packing that took least, with its name."""
    return min(packings.items(), key=lambda item: item[1]["least"])


def _cell(timing, tokens):
    contended = timing["cpu"] < QUIET * timing["least"]
    rate = f"{timing['least'] * 1e3:.2f}" if tokens <= 512 else f"{tokens / timing['least']:.0f}/s"
    # With two threads an engine may leave one idle; only less than one core shows that others took it.
    return rate + (" c" if contended else "")


def _row(name, cells, width=12):
    return f"{name:<20}" + "".join(f"{cell:>{width}}" for cell in cells)


def _times(run, tokens):
    shapes = list(run["times"])
    lines = [_row(f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}", shapes)]
    for engine in next(iter(run["times"].values())):
        lines.append(_row(engine, [_cell(best(run["times"][shape][engine])[1], tokens[shape]) for shape in shapes]))
    return lines


def _ratios(run, goals, ragged_goal):
    shapes = list(run["times"])
    lines = [_row("peer / ours", shapes)]
    for ours, (peers, goal) in goals.items():
        cells = []
        for shape in shapes:
            wanted = max(goal, ragged_goal) if shape == "ragged" else goal
            least = min(best(run["times"][shape][peer])[1]["least"] for peer in peers)
            ratio = least / best(run["times"][shape][ours])[1]["least"]
            cells.append(f"{ratio:.2f}" + ("" if ratio >= wanted else " <"))
        lines.append(_row(f"{ours} (>= {goal})", cells))
    packings = {engine: best(times)[0] for engine, times in run["times"].get("ragged", {}).items() if len(times) > 1}
    if packings:
        lines.append("ragged: the better packing was " + ", ".join(f"{packing} for {engine}" for engine, packing in packings.items()))
    return lines


def _starts(run):
    lines = [_row("", ["start, s", "load, s", "MiB", "MiB after", "cosine", "mean"])]
    for engine, start in run["start"].items():
        low, mean = run["cosines"][engine]
        lines.append(_row(engine, [f"{start['seconds']:.2f}", f"{start['load_seconds']:.2f}", f"{start['anonymous_mib']:.0f}",
                                   f"{start['anonymous_mib_after']:.0f}", f"{low:.6f}", f"{mean:.6f}"]))
    return lines


def table(result, goals, ragged_goal):
    lines = [result["command"], f"{result['date']}; {result['machine']}; cores {result['cores']}{' at real-time priority' if result['realtime'] else ''}; load "
             + " ".join(f"{load:.1f}" for load in result["load"]), "peers: " + ", ".join(result["peers"]),
             "tokens: " + ", ".join(f"{shape} {count}" for shape, count in result["tokens"].items()),
             "Milliseconds of one batch, or tokens a second; the least time of all rounds. c: other programs had part of the core.",
             f"Ratio: the better peer's time over ours; < misses the goal, which for ragged is {ragged_goal} at least.",
             "start: from a new process to its first vector; load: without starting Python and importing. MiB: memory that is no file's.",
             "cosine: the least, and the mean, to our own f32."]
    for run in result["runs"]:
        for part in (_times(run, result["tokens"]), _ratios(run, goals, ragged_goal), _starts(run)):
            lines += ["", *part]
    return "\n".join(lines)
