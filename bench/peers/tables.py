"""The text of a comparison: the ladder of English sizes, then languages by size for each mode, then ratios."""

import pathlib
import statistics


def without_folders(arguments):
    """The command line as it can be published: absolute paths keep their last part only."""
    return " ".join(pathlib.PurePath(a).name if a.startswith("/") else a for a in arguments)


def medians(rows, key):
    """{(mode, program, label): median over rounds}"""
    found = {}
    for row in rows:
        if row.get(key) is not None:
            found.setdefault((row["mode"], row["program"], row["label"]), []).append(row[key])
    return {at: statistics.median(values) for at, values in found.items()}


def ratios(rows, ours, key):
    """{(mode, peer, label): median over rounds of peer / ours, both of one round}"""
    of_round = {(r["round"], r["mode"], r["program"], r["label"]): r[key] for r in rows if r.get(key) is not None}
    found = {}
    for (number, mode, program, label), value in of_round.items():
        base = of_round.get((number, mode, ours, label))
        if program != ours and base:
            found.setdefault((mode, program, label), []).append(value / base)
    return {at: statistics.median(values) for at, values in found.items()}


def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def grid(title, columns, lines):
    """`lines` is [(name, [value, ...])]."""
    width = max([16, *(len(name) for name, _ in lines)]) + 2
    out = [title, " " * width + "".join(f"{column:>10}" for column in columns)]
    out += [f"{name:{width}}" + "".join(f"{number(value):>10}" for value in values) for name, values in lines]
    return "\n".join([*out, ""])


def unique(values):
    return list(dict.fromkeys(values))


def ladder(result, programs, sizes):
    """English by size; the sizes count the two special tokens, as the published table does."""
    out = []
    columns = [str(size + 2) for size in sizes]
    for title, key in (("p50, us", "p50_us"), ("p99, us", "p99_us"), ("allocations a call", "allocations")):
        found = medians(result["rows"], key)
        if not any(mode == "repeated" for mode, _, _ in found):
            continue
        lines = [(p, [found.get(("repeated", p, f"en-{size}")) for size in sizes]) for p in programs]
        out.append(grid(f"English, repeated, {title}, by tokens", columns, lines))
    counted = {(row["program"], row["label"]): row for row in result.get("cachegrind", [])}
    for key in ("instructions", "first_level_misses", "last_level_misses") if counted else ():
        lines = [(p, [counted.get((p, f"en-{size}"), {}).get(key) for size in sizes]) for p in programs]
        out.append(grid(f"English, repeated, {key.replace('_', ' ')} of one encode (cachegrind), by tokens", columns,
                        lines))
    return out


def render(result):
    rows = result["rows"]
    programs = [p["name"] for p in result["programs"]]
    labels = unique(row["label"] for row in [*rows, *result.get("cachegrind", [])])
    languages = unique(label.rsplit("-", 1)[0] for label in labels)
    sizes = sorted({int(label.rsplit("-", 1)[1]) for label in labels})
    modes = unique(row["mode"] for row in rows)
    where = result["machine"]
    out = [f"{result['command']}\n{result['date']}; {where['cpu']}, {where['cores']} cores, core {where['core']}"
           f"{' at real-time priority' if result['realtime'] else ''}; load {where['load_average']}"]
    out += [f"{p['name']:22}{p['version']:32}{p['entry']}" for p in result["programs"]] + [""]
    for name, differing in result["texts_with_other_ids"].items():
        if differing:
            listed = ", ".join(f"{label} {count}" for label, count in differing.items())
            out.append(f"{name}: {sum(differing.values())} texts with other ids than tokenizers 0.22.2 ({listed})")
    out.append("")
    if ("repeated" in modes or result.get("cachegrind")) and "en" in languages:
        out += ladder(result, programs, sizes)
    found = medians(rows, "us_per_512_tokens")
    ours = next((name for name in programs if name == "trellis"), None)
    against = ratios(rows, ours, "us_per_512_tokens") if ours else {}
    for mode in modes:
        for size in sizes:
            lines = [(p, [found.get((mode, p, f"{language}-{size}")) for language in languages]) for p in programs]
            out.append(grid(f"{mode}, {size} tokens: us per 512 tokens", languages, lines))
            lines = [(p, [against.get((mode, p, f"{language}-{size}")) for language in languages]) for p in programs
                     if ours and p != ours]
            if lines:
                out.append(grid(f"{mode}, {size} tokens: times the time of trellis", languages, lines))
    return "\n".join(out)
