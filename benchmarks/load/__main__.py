"""Run a thousand agents for ten minutes on the complete service: errors, time to answer as agents see it, memory.

API, workers, journal, schedule, PostgreSQL and Valkey, and the agents, share this machine's processors. Every agent
sends a heartbeat each 5 s, a recommendation request at the start of each transfer and a completion at its end, and logs
of other tools now and then; models are refitted meanwhile. Times run from the moment a request was due. Afterwards the
same agents load an echo for a minute: the same framework, keys and bodies, and no work.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.api.app import ECHO, ECHO_REDIS, REALLY_ANSWERED
from benchmarks.api.cases import make_log_lines
from benchmarks.faults.service import API, JOURNAL, SCHEDULE, WORKERS, Service, run_service
from benchmarks.faults.waiting import wait_until
from benchmarks.load.crowd import COMPLETE, HEARTBEAT, RECOMMEND, SITES, UPLOAD, format_site_name
from benchmarks.load.memory import Memory
from benchmarks.support import report
from benchmarks.support.background import run_in_background
from benchmarks.support.command import run_command
from benchmarks.support.precedence import take_precedence
from benchmarks.support.processes import ProcessorWatch, measure_cpu_s
from services.bootstrap import build_container
from services.processes import NICENESS
from services.serve import PYTHON, ensure_first_key, list_commands
from tradewind.errors import TradewindError

ROUTES = {
    RECOMMEND: "/v1/recommend",
    HEARTBEAT: "/v1/transfers/{transfer_id}/heartbeats",
    COMPLETE: "/v1/transfers/{transfer_id}/complete",
    UPLOAD: "/v1/logs",
}
ECHO_ROUTES = {RECOMMEND: ECHO, HEARTBEAT: ECHO_REDIS, UPLOAD: "/v1/logs"}


ECHO_WARM_S, SMOKE_ECHO_WARM_S = 15.0, 2.0
ECHO_FAST_TICK_S, SMOKE_FAST_TICK_S = 2.0, 0.1
"""Until an echo has an answer to give back, its transfers send heartbeats faster."""


@dataclass(frozen=True)
class LoadScale:
    """The size of a run.

    ``warm_s`` : until all agents are at work; not measured. ``sites`` : links that the agents transfer over.
    ``fast_tick_s`` : between heartbeats until an echo has an answer to give back, for ``echo_warm_s`` more.
    """

    agents: int
    seconds: float
    warm_s: float
    echo_s: float
    sites: int = SITES
    fast_tick_s: float = ECHO_FAST_TICK_S
    echo_warm_s: float = ECHO_WARM_S


class NothingMeasured(TradewindError):
    """A kind of request was not sent during the measurement: the run was too short, or what comes before it failed."""


RELEASE_PATIENCE_S = 1_200.0
"""Fits yield to all other programs where the benchmark has no precedence over them."""

FULL = LoadScale(agents=1_000, seconds=600.0, warm_s=30.0, echo_s=60.0)
QUICK = LoadScale(agents=200, seconds=30.0, warm_s=12.0, echo_s=10.0)
SMOKE = LoadScale(
    agents=20,
    seconds=6.0,
    warm_s=3.0,
    echo_s=6.0,
    sites=2,
    fast_tick_s=SMOKE_FAST_TICK_S,
    echo_warm_s=SMOKE_ECHO_WARM_S,
)
"""Agents start over a tick of 5 s: some start their transfer after the warm-up, so that all kinds of requests are
measured.
"""

AT_MOST = {"error_rate": 0.0, "p99_ms": 50.0}
"""Bounds with as many agents as requested."""

STEADY_AT_MOST = {"steady_growth_mb_per_minute_worst": 1.0}
STEADY_S = 300.0
"""From one refresh to the next, so that it contains what fits take and give back once.

It is judged after as long a time before, in which connections are made and caches filled.
"""

API_PROCESSES = 2
"""The number in Compose. One process reaches its limit at two thirds of a thousand agents, with half a processor idle.
"""

JUDGED_SHARE = 1 / 3
"""Share of the measured time after which memory is judged."""


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/load.json``; return 1 where a bound was missed."""
    parser = report.make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--agents", type=int, help="simulated; else 1,000, or 200 with --quick")
    parser.add_argument("--seconds", type=float, help="measured; else 600, or 30 with --quick")
    parser.add_argument("--api-processes", type=int, help="that answer; else 2, or one with --smoke")
    options = parser.parse_args(argv)
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    agents, seconds = options.agents or scale.agents, options.seconds or scale.seconds
    started_at = datetime.now(UTC)
    api_processes = options.api_processes or (1 if options.smoke else API_PROCESSES)
    with (
        nullcontext(False) if options.smoke else take_precedence() as prioritised,
        run_service_with_releases(
            options.seed, api_processes, sites=scale.sites, niceness={} if options.smoke else NICENESS
        ) as (
            service,
            key,
        ),
    ):
        print(f"{agents} agents for {seconds:.0f} s", flush=True)
        memory = Memory(lambda: list_parts(service))
        with run_in_background("memory", memory.run):
            loaded, used = run_crowd(service, key, agents, scale.warm_s, seconds, sites=scale.sites)
            ended_at_s = time.monotonic()
        growth = memory.compute_growth(ended_at_s - (1 - JUDGED_SHARE) * seconds)
        steady = memory.compute_steady_growth(ended_at_s - STEADY_S)
        echoed = run_on_echo(service, key, agents, scale)
    results = [*make_rows("service", loaded), *make_rows("echo", echoed)]
    results += [
        {
            "case": f"process {name}",
            "cpu_share": used.get(name),
            "pss_mb": memory.looks[-1].by_part[name],
            "growth_mb_per_minute": growth.get(name),
            "steady_growth_mb_per_minute": steady.get(name),
        }
        for name in memory.looks[-1].by_part
    ]
    found = (
        summarise(agents, loaded, echoed, memory)
        | summarise_growth(growth, steady)
        | {"went_ahead_of_others": prioritised}
    )
    for reason, count in [*loaded["reasons"].items(), *echoed["reasons"].items()]:
        print(f"{count} times {reason}")
    report.write_report(
        "load", quick=options.quick, smoke=options.smoke, results=results, summary=found, started_at=started_at
    )
    return (
        0
        if options.smoke
        else report.judge_summary(found, AT_MOST | (STEADY_AT_MOST if seconds >= 2 * STEADY_S else {}))
    )


@contextmanager
def run_service_with_releases(
    seed: int, api_processes: int = API_PROCESSES, *, sites: int = SITES, niceness: Mapping[str, int] = NICENESS
) -> Iterator[tuple[Service, str]]:
    """Run the complete service with a release of every link of the crowd; yield it and a key."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tradewind-load-")))
        folder.chmod(0o755)
        output = stack.enter_context((folder / "service.log").open("ab"))
        service = stack.enter_context(
            run_service(
                folder / "service",
                parts=(API, WORKERS, JOURNAL, SCHEDULE),
                api_processes=api_processes,
                output=output,
                niceness=niceness,
            )
        )
        with build_container(database_url=service.database_url, redis_url=service.valkey.url()) as parts:
            key = ensure_first_key(parts, folder / "key").secret
        with httpx.Client(base_url=service.address, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
            named = [format_site_name(number, sites) for number in range(sites)]
            client.post("/v1/logs", content=b"".join(make_log_lines(seed, named))).raise_for_status()
            wait_until(
                lambda: _count_released(client) == sites, "a release of all links", patience_s=RELEASE_PATIENCE_S
            )
        yield service, key


def _count_released(client: httpx.Client) -> int:
    return sum(link["release"] is not None for link in client.get("/v1/links").raise_for_status().json())


def run_crowd(
    service: Service, key: str, agents: int, warm_s: float, seconds: float, **more: Any
) -> tuple[dict[str, Any], Mapping[str, float]]:
    """Return what the agents measured, and the share of a processor that each part of the service took meanwhile."""
    order = {
        "host": service.settings.host, "port": service.settings.port, "key": key, "routes": ROUTES, "agents": agents,
        "warm_s": warm_s, "seconds": seconds, "fast_ticks": 0, "fast_tick_s": 0.0,
    }  # fmt: skip
    command = [*PYTHON, "benchmarks.load.crowd", json.dumps(order | more)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=report.ROOT) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "warm\n", "the crowd ended before it was at work"
            watch, before, started_s = ProcessorWatch(psutil.Process()), _measure_cpu(service), time.monotonic()
            written = process.stdout.readline()
            lasted_s, after, share = time.monotonic() - started_s, _measure_cpu(service), watch.measure_share()
        finally:
            process.kill()
    found: dict[str, Any] = json.loads(written)
    found |= {"others_share": share.others, "stolen_share": share.stolen}
    return found, {name: (after[name] - before[name]) / lasted_s for name in before if name in after}


def _measure_cpu(service: Service) -> dict[str, float]:
    return {name: measure_cpu_s(psutil.Process(first)) for name, first in list_parts(service).items()}


def list_parts(service: Service) -> dict[str, int]:
    """Return the first process of every part; each of the API's processes that answer is one."""
    (valkey,) = psutil.Process(int((service.valkey.folder / "keeper.lock").read_text())).children()
    processes = {name: process.pid for name, process in service.processes.items()}
    answering = psutil.Process(processes.pop(API)).children()
    processes |= {f"{API} {number}": each.pid for number, each in enumerate(answering, 1)}
    return processes | {"postgres": service.postgres.process_id, "valkey": valkey.pid}


def run_on_echo(service: Service, key: str, agents: int, scale: LoadScale) -> dict[str, Any]:
    """Run the same agents on the echo, in place of the API and without workers."""
    for part in list(service.processes):
        service.kill(part)
    command = list_commands(replace(service.settings, api_workers=1))[API]
    service.environment = {"TRADEWIND_CALLS": "off"}  # which would count an echo among the rarest calls
    service.replacements = {API: [*command, "--app=benchmarks.api.app:make_app"]}
    service.bring_back(API)
    warm_s = scale.echo_warm_s + REALLY_ANSWERED * scale.fast_tick_s
    found, _ = run_crowd(
        service, key, agents, warm_s, scale.echo_s,
        sites=scale.sites, routes=ECHO_ROUTES, fast_ticks=REALLY_ANSWERED, fast_tick_s=scale.fast_tick_s,
    )  # fmt: skip
    return found


def make_rows(owner: str, found: Mapping[str, Any]) -> list[dict[str, report.Value]]:
    """Return a line of the table for each kind of request."""
    return [{"case": f"{owner}: {kind}", **figures} for kind, figures in found["kinds"].items()]


def summarise(
    agents: int, loaded: Mapping[str, Any], echoed: Mapping[str, Any], memory: Memory
) -> dict[str, report.Value]:
    """Return the figures to judge by; times are from when a request was due."""
    kinds = loaded["kinds"]
    requests = sum(each["requests"] for each in kinds.values())
    p99 = {kind: read_p99_ms("the service", loaded, kind) for kind in (RECOMMEND, HEARTBEAT)}
    return {
        "agents": agents,
        "seconds": loaded["lasted_s"],
        "requests": requests,
        "error_rate": sum(each["errors"] for each in kinds.values()) / requests,
        "p99_ms": max(p99.values()),
        **{f"{kind}_p99_ms": value for kind, value in p99.items()},
        **{f"echo_{kind}_p99_ms": read_p99_ms("the echo", echoed, kind) for kind in p99},
        "late_p99_ms": max(kinds[kind]["late_p99_ms"] for kind in p99),
        "generator_share": loaded["generator_share"],
        "others_share": loaded["others_share"],
        "stolen_share": loaded["stolen_share"],
        "peak_rss_mb": max(sum(look.by_part.values()) for look in memory.looks),
    }


def read_p99_ms(owner: str, found: Mapping[str, Any], kind: str) -> float:
    """Return the 99th percentile of a kind of request.

    Raises
    ------
    NothingMeasured : no such request was sent during the measurement.
    """
    if kind not in found["kinds"]:
        reasons = "; ".join(f"{count} times {reason}" for reason, count in found["reasons"].items())
        raise NothingMeasured(f"{owner} was sent no {kind} in {found['lasted_s']:.0f} s ({reasons or 'no failures'})")
    return float(found["kinds"][kind]["p99_ms"])


def summarise_growth(growth: Mapping[str, float], steady: Mapping[str, float]) -> dict[str, report.Value]:
    """Return the growth of all parts together, and of the one that grew most."""
    return {
        "growth_mb_per_minute": sum(growth.values()),
        "growth_mb_per_minute_worst": max(growth.values(), default=0.0),
        "steady_growth_mb_per_minute_worst": max(steady.values(), default=0.0),
    }


if __name__ == "__main__":
    sys.exit(run_command("load", lambda: main(sys.argv[1:])))
