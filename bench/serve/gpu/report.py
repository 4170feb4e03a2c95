"""What was found, judged and as a table."""

MOST_DISTANCE = 1e-3  # 1 - cosine, of what 16 bits may come to
LEAST_APART = 1e-2    # below it, vectors of different tokens are so alike that no fault would show
OURS = "trellis"


def checks_of(models, asked):
    """[{"what", "ok", "found"}]: all that has to hold; a time is nothing of that kind."""
    checks = []

    def check(what, ok, found):
        checks.append({"what": what, "ok": bool(ok), "found": found})
    for name in asked:
        model = models.get(name, {})
        if failure := model.get("failure"):
            check(f"{name}: the engine", False, failure)
        for graph in model.get("graphs", []):
            check(f"{name}: graph of {graph['rows']} rows, {graph['tokens']} tokens = its kernels, bit for bit",
                  graph["captured"] and graph["equal"], "equal" if graph["equal"] else "not equal")
        if not model.get("graphs"):
            check(f"{name}: graphs", False, "none was looked at")
        numerics = model.get("numerics")
        if not numerics:
            check(f"{name}: values", False, model.get("no_numerics", "were not compared"))
            continue
        for task, distance in numerics["ours"].items():
            # Of each token's vector the mean: among thousands one is always unlucky.
            figure = "mean" if task == "embed_all" else "worst"
            check(f"{name}: {task}, {figure} cosine distance to float32 <= {MOST_DISTANCE:g}", distance[figure] <= MOST_DISTANCE,
                  f"{distance[figure]:.2e}")
        check(f"{name}: vectors of neighbouring tokens are apart by >= {LEAST_APART:g}", numerics["apart"] >= LEAST_APART,
              f"{numerics['apart']:.2e}")
    return checks


def _table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def _ms(value):
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _per_second(value):
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _numerics(models):
    rows = []
    for name, model in models.items():
        for task, ours in (model.get("numerics") or {}).get("ours", {}).items():
            theirs = model["numerics"]["torch"].get(task, {"worst": float("nan"), "mean": float("nan")})
            rows.append([name, task, f"{ours['worst']:.1e}", f"{ours['mean']:.1e}", f"{theirs['worst']:.1e}", f"{theirs['mean']:.1e}"])
    return ["## Values", "", "Cosine distance to torch in float32, ours and torch's own in bfloat16.", "",
            *_table(["model", "what", "ours, worst", "mean", "torch, worst", "mean"], rows)] if rows else []


def _graphs(name, model):
    rows = [[f"{g['rows']} x {g['tokens']}", "yes" if g["captured"] and g["equal"] else "NO", f"{g['eager_us']:.0f}", f"{g['graph_us']:.0f}",
             f"{g['eager_launch_us']:.0f}", f"{g['graph_launch_us']:.0f}", f"{g['capture_us'] / 1e3:.2f}", f"{g['bytes'] / 2**20:.2f}"]
            for g in model["graphs"]]
    lines = [f"### {name}: graphs", "", *_table(["rows x tokens", "same bits", "kernels, us", "graph, us", "launching kernels, us",
                                                "launching the graph, us", "capture, ms", "MiB"], rows)]
    if found := model.get("inflection"):
        lines += [f"Graphs pay up to {found['tokens']:,} tokens." if found["tokens"] else "Graphs pay at no size.", ""]
    return lines


def _scenarios(name, model):
    peers = [OURS, *sorted({line["peer"] for line in model["times"]} - {OURS})]
    lines = []
    for kind, unit in (("latency", "ms: p50, p90, p99"), ("throughput", "vectors a second")):
        rows = []
        for batch in dict.fromkeys(line["name"] for line in model["times"] if line["part"] == kind):
            cells = [batch]
            for peer in peers:
                line = next((l for l in model["times"] if (l["part"], l["name"], l["peer"]) == (kind, batch, peer)), None)
                if line is None:
                    cells.append("-")
                elif kind == "latency":
                    cells.append(", ".join(_ms(line[key]) for key in ("p50_ms", "p90_ms", "p99_ms")))
                else:
                    cells.append(_per_second(line["rows_per_s"]))
            rows.append(cells)
        if rows:
            lines += [f"### {name}: {kind}, {unit}", "", *_table(["rows x tokens", *peers], rows)]
    return lines


def table(report):
    machine = report["machine"]
    gpu = machine["gpu"]
    where = f"{gpu['name']}, driver {gpu['driver']}, {gpu['memory']}" if gpu else "no GPU"
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    passed = sum(check["ok"] for check in report["checks"])
    lines = ["# GPU check", "", f"`{report['command']}`, {report['date']}, commit {report['built']['commit']}, {report['seconds']:.0f} s", "",
             f"{where}; {machine['processor']}, {machine['cores']} cores; {machine['system']}; {versions}", ""]
    if report["fake"]:
        lines += ["**On a GPU that is none, with the kernels emulated, and tiny models: times and memory mean nothing.**", ""]
    lines += [f"{passed} of {len(report['checks'])} checks passed.", ""]
    lines += [f"- FAILED: {check['what']}: {check['found']}" for check in report["checks"] if not check["ok"]]
    lines += [""] if passed < len(report["checks"]) else []
    lines += _numerics(report["models"])
    if any(model.get("times") for model in report["models"].values()):
        lines += ["## Times", "", "Random ids, the same for all; from ids on the host until the vectors are there; bfloat16. Throughput of ours: steps of "
                  "one batch behind the other.", ""]
    for name, model in report["models"].items():
        if load := model.get("load"):
            lines += [f"{name}: opened in {load['open_s']:.2f} s, loaded in {load['load_s']:.2f} s, {load['bytes'] / 2**20:,.0f} MiB.", ""]
        lines += _scenarios(name, model) if model.get("times") else []
        lines += _graphs(name, model) if model.get("graphs") else []
    if report["left_out"]:
        lines += ["## Left out", "", *("- " + ": ".join([*filter(None, (left.get("model"), left.get("peer"))), left["what"], left["why"]])
                                       for left in report["left_out"]), ""]
    return "\n".join(lines).rstrip("\n") + "\n"
