"""What bench/serve/run shows. Each scenario starts its own servers and gives a table and checks.

A check of a time is generous, since the machine may be busy with other things, and left out in a smoke run.
"""
import dataclasses

from server_under_load import Server

# A batch of 4096 tokens takes 2 ms + 4096 * 5 us = 22.5 ms, so about 182,000 tokens a second.
BATCH_TOKENS = 4096
BATCH_SECONDS = 0.002 + BATCH_TOKENS * 5e-6
ENGINE = "batch_us=2000,token_ns=5000,dimensions=1024"
CAPACITY = BATCH_TOKENS / BATCH_SECONDS
BULK = {"name": "bulk", "rows": 8, "tokens": 64, "priority": "bulk"}
BULK_TOKENS = 8 * 64


@dataclasses.dataclass
class Pace:
    seconds: float
    timed: bool  # times are checked
    whole: bool = True  # as many clients as there are to be; else what shows that the run works

    def share(self, part, least=1.0):
        return max(self.seconds * part, least)


class Checks:
    def __init__(self, pace):
        self.pace, self.list = pace, []

    def true(self, what, ok):
        self.list.append({"what": what, "ok": bool(ok)})

    def timed(self, what, ok):
        if self.pace.timed:
            self.true(what, ok)


def result(scenario, shows, table, checks, **runs):
    return {"scenario": scenario, "shows": shows, "table": table, "checks": checks.list, "runs": runs}


def ms(value):
    return "-" if value is None else f"{value:.2f} ms"


def only(codes, *allowed):
    return codes.get("OK", 0) > 0 and set(codes) <= {"OK", *allowed}


def one_by_one(server, count):
    """So few requests a second that each one finds an idle server."""
    return server.load(60, {"name": "single", "rate": 10, "tokens": 16}, requests=count)


def overload(programs, pace):
    checks = Checks(pace)
    with Server(programs, ENGINE, max_batch_tokens=BATCH_TOKENS) as server:
        command = server.command
        before = one_by_one(server, 20 if pace.timed else 3)
        rate = round(3 * CAPACITY / BULK_TOKENS)
        # What the first seconds fill (the queue, the pools of allocators) is no leak: the second quarter is where it begins.
        run = server.load(pace.seconds, {**BULK, "rate": rate}, max_outstanding=20000)
        after = one_by_one(server, 20 if pace.timed else 3)
        left = server.gauges_at_zero()
    bulk, idle, again = run["streams"]["bulk"], before["streams"]["single"], after["streams"]["single"]
    resident = run["resident_mib"]
    quarter = max(len(resident) // 4, 1)
    early, late = max(resident[quarter:2 * quarter] or resident), max(resident[-quarter:])
    refused = run["metrics"]['trellis_rejected_total{reason="queue_full"}']
    checks.true("only answers and RESOURCE_EXHAUSTED, some of each or all answered",
                only(bulk["codes"], "RESOURCE_EXHAUSTED") and bulk["skipped"] == 0)
    checks.true("every answer has the rows that were asked for", bulk["malformed"] == 0 and bulk["row_failures"] == 0)
    checks.true("each refusal is counted once", refused == bulk["codes"].get("RESOURCE_EXHAUSTED", 0))
    checks.true("afterwards every request is answered", set(again["codes"]) == {"OK"})
    checks.true(f"gauges back to 0 {left or ''}", not left)
    checks.timed("the load was three times what is answered, or nearly", bulk["codes"].get("RESOURCE_EXHAUSTED", 0) > bulk["codes"]["OK"])
    checks.timed("answers go on at 80% of the engine's speed or more", bulk["tokens_per_second"] > 0.8 * CAPACITY)
    checks.timed("memory flat: last quarter within 5% and 4 MiB of the second", late <= early * 1.05 + 4)
    checks.timed("at once as before: single queries' median at most twice that before, and 5 ms",
                 again["latency_ms"]["p50"] <= 2 * idle["latency_ms"]["p50"] + 5)
    table = [
        ["offered", f"{rate} requests/s, {rate * BULK_TOKENS} tokens/s, 3 times the engine's {CAPACITY:.0f}"],
        ["answered", f"{bulk['codes'].get('OK', 0)} requests, {bulk['tokens_per_second']:.0f} tokens/s while loaded and drained"],
        ["refused", f"{bulk['codes'].get('RESOURCE_EXHAUSTED', 0)} RESOURCE_EXHAUSTED"],
        ["latency p50 / p99", f"{ms(bulk['latency_ms']['p50'])} / {ms(bulk['latency_ms']['p99'])} (a full queue's worth)"],
        ["resident", f"second quarter {early:.1f} MiB, last quarter {late:.1f} MiB, start {resident[0]:.1f} MiB"],
        ["single query p50", f"before {ms(idle['latency_ms']['p50'])}, right after {ms(again['latency_ms']['p50'])}"],
    ]
    return result("overload", "three times too much for so long: answers or RESOURCE_EXHAUSTED, flat memory, instant recovery",
                  table, checks, server=command, before=before, load=run, after=after)


def cancels(programs, pace):
    checks = Checks(pace)
    count = 1000 if pace.timed else 200
    with Server(programs, ENGINE, max_batch_tokens=BATCH_TOKENS) as server:
        command = server.command
        stream = {"name": "given up", "rate": 1000, "rows": "1:8", "tokens": "16:128", "cancel_share": 1, "cancel_after_ms": "0:60"}
        run = server.load(60, stream, requests=count)
        left = server.gauges_at_zero()
        after = one_by_one(server, 3)
    codes = run["streams"]["given up"]["codes"]
    metrics = run["metrics"]
    ended = sum(value for name, value in metrics.items() if name.startswith("trellis_requests_total"))
    checks.true(f"{count} requests ended, as answers or CANCELLED", sum(codes.values()) == count and set(codes) <= {"OK", "CANCELLED"})
    checks.true("some were cancelled", codes.get("CANCELLED", 0) > 0)
    checks.true(f"gauges back to 0 {left or ''}", not left)
    checks.true("the server ended each that it accepted once", ended == metrics["trellis_request_seconds_count"] <= count)
    checks.true("afterwards every request is answered", set(after["streams"]["single"]["codes"]) == {"OK"})
    answered, rows = metrics['trellis_requests_total{outcome="ok"}'], metrics['trellis_inputs_total{task="embed"}']
    table = [["client saw", ", ".join(f"{number} {code}" for code, number in codes.items())],
             ["server counted", f"{metrics['trellis_cancelled_total']:.0f} cancelled, {answered:.0f} answered"],
             ["rows that the engine saw", f"{metrics['trellis_batch_size_sum']:.0f} of {rows:.0f}"],
             ["gauges", left or "all 0"]]
    return result("cancels", f"{count} requests given up after 0 to 60 ms: nothing is left behind", table, checks, server=command, load=run)


def overlap(programs, pace):
    checks = Checks(pace)
    runs, table = {}, [["depth", "batches/s", "engine busy", "idle between batches", "server CPU"]]
    for depth in (1, 2):
        with Server(programs, f"batch_us=1500,depth={depth},dimensions=64", max_batch_tokens=BATCH_TOKENS,
                    max_batch_requests=32) as server:
            stream = {"name": "bulk", "rate": 2000, "rows": 32, "tokens": 16, "priority": "bulk"}
            run = server.load(pace.share(0.1), stream, max_outstanding=32)
        batches = run["metrics"]["trellis_batch_size_count"]
        forward = run["metrics"]['trellis_forward_seconds_sum{backend="synthetic"}']
        run["engine_busy"] = forward / run["seconds"]
        run["idle_us"] = (run["seconds"] - forward) / batches * 1e6
        run["cpu_busy"] = run["server_cpu_seconds"] / run["wall_seconds"]
        runs[f"depth_{depth}"] = run
        table.append([depth, f"{batches / run['seconds']:.0f}", f"{run['engine_busy']:.1%}", f"{run['idle_us']:.0f} us",
                      f"{run['cpu_busy']:.0%}"])
        checks.true(f"depth {depth}: only answers", only(run["streams"]["bulk"]["codes"]))
    one, two = runs["depth_1"], runs["depth_2"]
    checks.timed("with depth 2 the engine waits less between batches", two["idle_us"] < one["idle_us"])
    checks.timed("with depth 2 engine and CPU are busy at the same time: more than 100% together",
                 two["engine_busy"] + two["cpu_busy"] > 1)
    return result("overlap", "packing, copying and answering while the engine works (1.5 ms a batch of 32 rows, on its own thread)",
                  table, checks, **runs)


def batching(programs, pace):
    checks = Checks(pace)
    runs, table = {}, [["rows in a batch", "requests/s", "mean batch", "p50", "p99"]]
    for limit, label in ((1, "1"), (0, "up to the engine's limit")):
        flags = {"max_batch_tokens": BATCH_TOKENS, **({"max_batch_requests": limit} if limit else {})}
        with Server(programs, "batch_us=2000,row_us=50,token_ns=500", **flags) as server:
            run = server.load(pace.share(0.1), {"name": "single", "rate": 1500, "tokens": "8:48"}, max_outstanding=256)
        single, metrics = run["streams"]["single"], run["metrics"]
        mean = metrics["trellis_batch_size_sum"] / metrics["trellis_batch_size_count"]
        runs["one_by_one" if limit else "batched"] = {**run, "mean_batch": mean}
        table.append([label, f"{single['requests_per_second']:.0f}", f"{mean:.1f}", ms(single["latency_ms"]["p50"]),
                      ms(single["latency_ms"]["p99"])])
        checks.true(f"{label}: only answers", only(single["codes"], "RESOURCE_EXHAUSTED") and single["malformed"] == 0)
    gain = (runs["batched"]["streams"]["single"]["requests_per_second"]
            / runs["one_by_one"]["streams"]["single"]["requests_per_second"])
    table.append(["gain", f"{gain:.2f}"])
    checks.true("one by one is one by one", runs["one_by_one"]["mean_batch"] == 1)
    checks.true("batches have more than one row", runs["batched"]["mean_batch"] > 1)
    checks.timed("batching answers at least twice as many", gain >= 2)
    return result("batching", "the same load, row by row and in batches (2 ms a batch, 50 us a row, 0.5 us a token)", table, checks, **runs)


def interactive(programs, pace):
    checks = Checks(pace)
    with Server(programs, ENGINE, max_batch_tokens=BATCH_TOKENS) as server:
        command = server.command
        query = {"name": "query", "rate": 20, "tokens": 16}
        # A stream of bulk that the queue always has some of, and never refuses.
        run = server.load(pace.share(0.25), {**BULK, "rate": round(2 * CAPACITY / BULK_TOKENS)}, query, max_outstanding=400)
    single, metrics = run["streams"]["query"], run["metrics"]
    batch = metrics['trellis_forward_seconds_sum{backend="synthetic"}'] / metrics['trellis_forward_seconds_count{backend="synthetic"}']
    p99, two = single["latency_ms"]["p99"], 2 * BATCH_SECONDS * 1000
    checks.true("every query is answered", set(single["codes"]) == {"OK"})
    checks.true("bulk: only answers", only(run["streams"]["bulk"]["codes"], "RESOURCE_EXHAUSTED"))
    checks.timed("the engine was never idle: bulk filled it", metrics["trellis_batch_size_count"] * batch > 0.8 * run["seconds"])
    # The bound, and a quarter of it for a busy machine.
    checks.timed("a query's p99 is at most two full batches", p99 <= 1.25 * two)
    table = [["a full batch", ms(BATCH_SECONDS * 1000)], ["mean time in the engine", ms(batch * 1000)],
             ["query p50 / p99 / max", f"{ms(single['latency_ms']['p50'])} / {ms(p99)} / {ms(single['latency_ms']['max'])}"],
             ["p99 in full batches", f"{p99 / (BATCH_SECONDS * 1000):.2f}"],
             ["bulk p50", ms(run["streams"]["bulk"]["latency_ms"]["p50"])]]
    return result("interactive", "single queries under a stream of bulk that fills the engine", table, checks, server=command, load=run)


ALL = {"overload": overload, "cancels": cancels, "overlap": overlap, "batching": batching, "interactive": interactive}
