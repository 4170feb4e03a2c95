"""What bench/serve/faults does to two servers behind a gateway, and what must hold. Each scenario starts its own programs.

A check of a time is generous, since the machine may be busy with other things, and left out in a smoke run.
"""
import contextlib
import signal
import time

from fault_programs import Gateway, Server, wait_until
from faulty_proxy import FaultyProxy
from http_load import Load, expected_answers
from scenarios import Checks, result

# A batch of up to eight rows takes 5 ms.
ENGINE = "batch_us=5000,max_batch_rows=8"


class Cluster:
    """Servers, a gateway before them, and the answers they give when nothing is wrong. Use with `with`."""

    def __init__(self, build, engines=(ENGINE, ENGINE), server_flags=None, **flags):
        self.build, self.engines, self.server_flags, self.flags = build, engines, server_flags or {}, flags
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with self.stack:
            self.servers = [self.stack.enter_context(Server(self.build, engine, **self.server_flags)) for engine in self.engines]
            self.addresses = [server.address for server in self.servers]
            self.proxy = self.stack.enter_context(FaultyProxy(self.addresses[0]))
            if self.flags.pop("through_proxy", False):
                self.addresses[0] = self.proxy.address
            self.gateway = self.stack.enter_context(Gateway(self.build, self.addresses, **self.flags))
            if not wait_until(lambda: all(self.gateway.up(address) for address in self.addresses))[0]:
                raise SystemExit("the servers did not come up:\n" + "".join(self.gateway.said))
            self.expected = expected_answers(self.gateway.port)
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, failure, *_):
        """Whoever is still there must end well: a sanitizer says then what it has found."""
        with self.stack:
            for program in (self.gateway, *self.servers):
                if failure is None and program.drain() != 0:
                    raise SystemExit(f"{program.command[0]} ended with status {program.child.returncode}:\n" + "".join(program.said[-40:]))

    def load(self, **how):
        return Load(self.gateway.port, self.expected, **how)

    def gauges(self):
        """Those that are not 0."""
        gauges = {}
        for program in (self.gateway, *self.servers):
            for name, value in program.metrics().items():
                if value and name.startswith(("trellis_inflight", "trellis_queue_depth", "trellis_queue_tokens",
                                              "trellis_replica_outstanding", "te_queue_size")):
                    gauges[name] = value
        return gauges

    def retries(self):
        return {reason: int(self.gateway.metrics()[f'trellis_retries_total{{reason="{reason}"}}'])
                for reason in ("unavailable", "overloaded", "failed")}

    def row(self, load):
        outcome = load.outcome()
        return [["answers", ", ".join(f"{number} of {code}" for code, number in sorted(outcome["codes"].items()))],
                ["p50 / p99 / most", f"{outcome['p50_ms']} / {outcome['p99_ms']} / {outcome['most_ms']} ms"],
                ["tried again", ", ".join(f"{number} {reason}" for reason, number in self.retries().items())]]


def no_error(checks, load, allowed=(200,)):
    what = f"{sum(load.codes.values())} requests, only {' and '.join(map(str, allowed))}"
    bad = {code: number for code, number in load.codes.items() if code not in allowed}
    checks.true(what + (f"; but {bad} {load.said}" if bad else ""), not bad and load.codes[200] > 0)
    checks.true("each 200 is the answer that its text had before", load.wrong == 0)


def killed(build, pace):
    checks = Checks(pace)
    with Cluster(build) as cluster:
        with cluster.load() as load:
            time.sleep(pace.seconds / 3)
            cluster.servers[0].kill()
            gone, took = wait_until(lambda: not cluster.gateway.up(cluster.addresses[0]))
            time.sleep(pace.seconds / 3)
            cluster.servers[0].restart()
            back, again = wait_until(lambda: cluster.gateway.up(cluster.addresses[0]))
            time.sleep(pace.seconds / 3)
        served = cluster.servers[0].metrics()['trellis_inputs_total{task="embed"}']
        table = cluster.row(load) + [["noticed after", f"{took * 1000:.0f} ms"], ["back after its start", f"{again:.1f} s"]]
    no_error(checks, load)
    checks.true("it is out, and back when it is started again", gone and back)
    checks.true("and works again", served > 0 or not pace.whole)
    return result("killed", "kill -9 of one of two servers under load, then its start", table, checks, load=load.outcome())


def stopped(build, pace):
    checks = Checks(pace)
    with Cluster(build) as cluster:
        with cluster.load() as load:
            time.sleep(pace.seconds / 6)
            cluster.servers[0].signal(signal.SIGSTOP)
            time.sleep(pace.seconds)
            before = sum(load.codes.values())
            moves, _ = wait_until(lambda: sum(load.codes.values()) > before)
            cluster.servers[0].signal(signal.SIGCONT)
            back, _ = wait_until(lambda: cluster.gateway.up(cluster.addresses[0]))
            time.sleep(pace.seconds / 6)
        table = cluster.row(load)
    no_error(checks, load)
    checks.true("answers go on meanwhile", moves)
    checks.true("it is back when it goes on", back)
    # Three checks in a row of two seconds each, every half second, and what the machine does beside.
    checks.timed("what it had was moved to the other within 10 s", load.milliseconds(1) < 10_000)
    return result("stopped", f"SIGSTOP of one of two servers for {pace.seconds:g} s", table, checks, load=load.outcome())


def slow(build, pace):
    checks = Checks(pace)
    with Cluster(build, (ENGINE.replace("5000", "100000"), ENGINE)) as cluster:
        with cluster.load() as load:
            time.sleep(pace.seconds)
        shares = [server.metrics()['trellis_inputs_total{task="embed"}'] for server in cluster.servers]
        table = cluster.row(load) + [["rows at the slow one, the other", f"{shares[0]:.0f}, {shares[1]:.0f}"]]
    no_error(checks, load)
    checks.timed("the slow one gets less than a third of the other's", shares[0] < shares[1] / 3)
    return result("slow", "one of two servers takes 20 times as long", table, checks, load=load.outcome())


def spoilt(name, mode, shows):
    def scenario(build, pace):
        checks = Checks(pace)
        with Cluster(build, through_proxy=True) as cluster:
            with cluster.load() as load:
                time.sleep(pace.seconds / 3)
                cluster.proxy.mode = mode
                time.sleep(pace.seconds / 3)
                wait_until(lambda: cluster.proxy.spoilt > 0)  # on a busy machine it may be longer until one answers
                cluster.proxy.mode = "pass"
                back, again = wait_until(lambda: cluster.gateway.up(cluster.addresses[0]), 90)
                time.sleep(pace.seconds / 3)
            out = cluster.gateway.metrics()[f'trellis_replica_ejections_total{{replica="{cluster.addresses[0]}"}}']
            table = cluster.row(load) + [["answers spoilt", cluster.proxy.spoilt], ["put out", f"{out:.0f} times"],
                                         ["back after", f"{again:.1f} s"]]
        no_error(checks, load)
        checks.true("some were spoilt", cluster.proxy.spoilt > 0)
        checks.true("it is back when it is well", back)
        return result(name, shows, table, checks, load=load.outcome())
    return scenario


def rolling(build, pace):
    checks = Checks(pace)
    statuses, back = [], []
    with Cluster(build) as cluster:
        with cluster.load() as load:
            for server, address in zip(cluster.servers, cluster.addresses):
                time.sleep(pace.seconds / 4)
                statuses.append(server.drain())
                time.sleep(pace.seconds / 4)
                server.restart()
                back.append(wait_until(lambda address=address: cluster.gateway.up(address))[0])
            time.sleep(pace.seconds / 4)
        table = cluster.row(load)
    no_error(checks, load)
    checks.true("each ended with status 0 and came back", statuses == [0, 0] and all(back))
    return result("rolling", "both servers restarted, one after the other, under load", table, checks, load=load.outcome())
