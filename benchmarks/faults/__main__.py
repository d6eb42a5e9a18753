"""Cause faults of every part of the service under load: rows lost or stored twice, failed transfers, time to recover.

Four agents copy files and upload known rows, each from a home of its own. Meanwhile parts of the service, or an agent,
are killed and started again, the network between them is cut, the service's disk is full, and clocks are wrong. A
client requests a recommendation ten times a second, and another looks as often at the current release. At the end the
benchmark looks for everything that was acknowledged in the database. As root, agents are in a network namespace and the
service has a disk of its own; otherwise the benchmark leaves these two faults out and says so.
"""

import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psycopg

from benchmarks.api.cases import DESTINATIONS, FAMILIES, SOURCE, make_log_lines
from benchmarks.demo.stack import StackProcess, run_process
from benchmarks.faults.agents import UPLOADED, CopyingAgent, make_files
from benchmarks.faults.disk import mount_disk
from benchmarks.faults.kinds import API_SERVICE_KILLED, Fault, Scene, cause_fault
from benchmarks.faults.ledger import Ledger, compare_with_database
from benchmarks.faults.network import Network, set_up_network
from benchmarks.faults.service import API, JOURNAL, SCHEDULE, WORKERS, Service, run_service
from benchmarks.faults.waiting import wait_until
from benchmarks.faults.watching import ReleaseWatch, RequestLoop
from benchmarks.support.background import run_in_background
from benchmarks.support.command import run_command
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import ROOT, Value, make_parser, write_report
from services.bootstrap import build_container
from services.processes import NICENESS
from services.serve import PYTHON, ensure_first_key

AGENTS, SMOKE_AGENTS = len(DESTINATIONS), 1
ROUNDS, OTHERS = 5, 2
QUICK_ROUNDS, QUICK_OTHERS = 1, 1
SMOKE_KIND = "kill api"
"""The one fault of a smoke run: a process that answers, one of several."""

BETWEEN_S = 2.0
QUIET_S, SMOKE_QUIET_S = 10.0, 1.0
"""Time without a fault, at the start: what is seen then is not caused by faults."""

LONGEST_BACK_S = 5.0
"""Recommendations must come again so soon after the cause of their absence has ended."""

SERVICE_LOG = ROOT / "var" / "bench" / "faults-service.log"
"""The output of all parts of the service in the last run."""

ENVIRONMENT = {
    "TRADEWIND_REFRESH_INTERVAL_S": "5",
    "TRADEWIND_SWEEP_INTERVAL_S": "5",
    "TRADEWIND_KEPT_RELEASES": "10000",
}
"""Releases are made all the time, so that faults meet them, and none is removed before the end.

A smoke run makes only one release.
"""


@dataclass
class FaultResults:
    """The results of all faults."""

    results: list[dict[str, Value]] = field(default_factory=list)
    kills: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    ended: list[str] = field(default_factory=list)
    """Parts that ended without a fault of their own."""


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/faults.json``; return 1 where something that must hold did not."""
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="KIND", help="only faults whose name contains this")
    parser.add_argument("--api-processes", type=int, default=2, help="that answer; one is killed; 2 by default")
    options = parser.parse_args(argv)
    rounds, others = (QUICK_ROUNDS, QUICK_OTHERS) if options.quick else (ROUNDS, OTHERS)
    started_at = datetime.now(UTC)
    only = options.only or (SMOKE_KIND if options.smoke else "")
    with (
        nullcontext(False) if options.smoke else take_precedence() as prioritised,
        set_up_scene(options.seed, options.api_processes, smoke=options.smoke) as (scene, requests),
    ):
        course = FaultResults()
        run_without_fault(course, requests, SMOKE_QUIET_S if options.smoke else QUIET_S)
        for fault in scene.list_faults(rounds, others, options.seed):
            if only in fault.kind:
                run_fault(fault, course, requests, scene)
        print("the agents finish", flush=True)
        for agent in scene.agents:
            agent.finish()
        uploaded = [agent.stop() for agent in scene.agents]
        with psycopg.connect(scene.service.postgres.url()) as admin:
            ledger = compare_with_database(admin, scene.agents)
            published = {release for (release,) in admin.execute(_PUBLISHED)}
        problems = list_failures(scene, uploaded)
        problems += [f"{part} stopped by itself" for part in course.ended]
        problems += [] if options.smoke else list_late(course.results)
        if not course.kinds:
            problems.append(f"no fault has {only!r} in its name")
        incomplete = scene.publications.incomplete
        incomplete += [
            f"release {each} answered and does not exist" for each in sorted(_list_answered(requests) - published)
        ]
        for each in (*ledger.problems, *problems, *incomplete[:10]):
            print(f"WRONG  {each}", flush=True)
        found = summarise(course, ledger, scene, incomplete) | {"went_ahead_of_others": prioritised}
    write_report(
        "faults",
        quick=options.quick,
        smoke=options.smoke,
        results=course.results,
        summary=found,
        started_at=started_at,
    )
    return 1 if ledger.problems or problems or incomplete else 0


@contextmanager
def set_up_scene(seed: int, api_processes: int, *, smoke: bool) -> Iterator[tuple[Scene, RequestLoop]]:
    """Run the service, its agents at work, and the watchers."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tradewind-faults-")))
        folder.chmod(0o755)
        between = stack.enter_context(set_up_network())
        own = stack.enter_context(mount_disk(folder / "service"))
        SERVICE_LOG.parent.mkdir(parents=True, exist_ok=True)
        output = stack.enter_context(SERVICE_LOG.open("wb"))
        service = stack.enter_context(
            run_service(
                own.folder,
                parts=(API, WORKERS, JOURNAL, SCHEDULE),
                api_processes=api_processes,
                host=between.service_address,
                environment={} if smoke else ENVIRONMENT,
                output=output,
                niceness={} if smoke else NICENESS,
            )
        )
        key = _make_key(service, folder)
        _publish_release(service, key, seed)
        agents = stack.enter_context(_start_agents(folder, service, key, between, SMOKE_AGENTS if smoke else AGENTS))
        publications = ReleaseWatch(service.postgres.url)
        stack.enter_context(run_in_background("publications", publications.run))
        requests = RequestLoop(service.address, key, _make_request(), between)
        stack.enter_context(run_in_background("requests", requests.run))
        wait_until(lambda: requests.results and requests.results[-1].release is not None, "the first recommendation")
        yield Scene(service, agents, between, own, publications), requests


def _make_key(service: Service, folder: Path) -> str:
    with build_container(database_url=service.database_url, redis_url=service.valkey.url()) as parts:
        return ensure_first_key(parts, folder / "key").secret


def _publish_release(service: Service, key: str, seed: int) -> None:
    with httpx.Client(base_url=service.address, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        client.post("/v1/logs", content=b"".join(make_log_lines(seed))).raise_for_status()
        wait_until(lambda: all(link["release"] for link in client.get("/v1/links").json()), "a release of all links")


def _make_request() -> dict[str, object]:
    files = FAMILIES["medium"]
    dataset = {"file_count": files.file_count, "total_bytes": files.total_bytes}
    return {"source": SOURCE, "destination": DESTINATIONS[0], "dataset": dataset, "sla": {"kind": "max_throughput"}}


@contextmanager
def _start_agents(
    folder: Path, service: Service, key: str, between: Network, count: int
) -> Iterator[list[CopyingAgent]]:
    make_files(folder / "files")
    command = (*PYTHON, "tradewind_agent", "serve-files", str(folder / "files"), "--port", "0", "--json")
    with run_process(
        "origin", between.build_command(command), logs=folder, environment={"PYTHONUNBUFFERED": "1"}
    ) as origin:
        address = f"http://127.0.0.1:{_read_port(origin)}/"
        agents = [
            CopyingAgent(number, folder / f"agent {number}", folder / "files", address, service.address, key, between)
            for number in range(count)
        ]
        try:
            for agent in agents:
                agent.start()
            yield agents
        finally:
            for agent in agents:
                agent.stop_now()


def _read_port(origin: StackProcess) -> int:
    return int(origin.wait_for_line(r'"port": ?(\d+)')[1])


def run_without_fault(course: FaultResults, requests: RequestLoop, for_s: float) -> None:
    """Run for a while without a fault."""
    started_s = time.monotonic()
    time.sleep(for_s)
    missed = requests.list_missed(started_s, time.monotonic())
    course.results.append({"case": "no fault", "lasted_s": for_s, "missed": len(missed), "back_s": 0.0})


def run_fault(fault: Fault, course: FaultResults, requests: RequestLoop, scene: Scene) -> None:
    """Cause one fault; note how recommendations recovered."""
    started_s, finished_s = cause_fault(fault)
    back_s = requests.wait_until_steady(finished_s)
    missed = requests.list_missed(started_s, time.monotonic())
    course.kinds[fault.kind] += 1
    course.kills += fault.is_kill
    course.results.append(
        {"case": fault.kind, "lasted_s": finished_s - started_s, "missed": len(missed), "back_s": back_s}
    )
    reasons = Counter(each.reason for each in missed).most_common(2)
    answered = f"recommend back {back_s:.2f} s after its end, {len(missed)} missed {dict(reasons) if reasons else ''}"
    copies = sum(len(agent.copies) for agent in scene.agents)
    print(
        f"{sum(course.kinds.values()):3} {fault.kind}, {finished_s - started_s:.1f} s: {answered}; {copies} copies",
        flush=True,
    )
    if ended := scene.service.list_stopped():
        print(f"    stopped by themselves: {', '.join(ended)}; see {SERVICE_LOG.relative_to(ROOT)}", flush=True)
        course.ended += ended
        for part in ended:
            scene.service.bring_back(part)
    time.sleep(BETWEEN_S)


def list_failures(scene: Scene, uploaded: Sequence[bool]) -> list[str]:
    """Describe what did not hold, apart from the ledger."""
    found = []
    for agent, was_uploaded in zip(scene.agents, uploaded, strict=True):
        found += [
            f"a copy of agent {agent.number} failed ({copied.code}): {copied.error_text}"
            for copied in agent.copies
            if not copied.is_good
        ]
        if agent.refused:
            found.append(f"{agent.refused} segments of agent {agent.number} were refused")
        if not was_uploaded:
            found.append(f"agent {agent.number} could not upload what it had spooled")
        if agent.copies and agent.copies[-1].document.get("log") != UPLOADED:
            found.append(f"the last log of agent {agent.number}: {agent.copies[-1].document.get('log')}")
    return found


def list_late(results: Sequence[Mapping[str, Value]]) -> list[str]:
    """Describe the faults after which recommendations were away for too long."""
    return [
        f"recommendations were back {each['back_s']:.1f} s after {each['case']}"
        for each in results
        if isinstance(each["back_s"], float) and each["back_s"] > LONGEST_BACK_S
    ]


def list_return_times(course: FaultResults, *kinds: str) -> list[float]:
    """Return when recommendations were back after each fault of these kinds, s."""
    found = (each["back_s"] for each in course.results if each["case"] in kinds)
    return [each for each in found if isinstance(each, float)]


def summarise(course: FaultResults, ledger: Ledger, scene: Scene, incomplete: Sequence[str]) -> dict[str, Value]:
    """Return the figures to judge by."""
    copies = [copied for agent in scene.agents for copied in agent.copies]
    back = list_return_times(course, *course.kinds)
    return {
        "faults_injected": sum(course.kinds.values()),
        "kills": course.kills,
        "faults_by_kind": dict(course.kinds),
        "skipped": scene.list_skipped(),
        "acked_rows": ledger.acked_rows,
        "lost_rows": ledger.lost_rows,
        "duplicate_rows": ledger.duplicate_rows,
        "miscounted_rows": ledger.miscounted_rows,
        "quarantined_rows": ledger.quarantined_rows,
        "heartbeats": ledger.heartbeats,
        "lost_heartbeats": ledger.lost_heartbeats,
        "duplicate_heartbeats": ledger.duplicate_heartbeats,
        "ended_by_themselves": len(course.ended),
        "transfers": len(copies),
        "transfers_interrupted": sum(not copied.is_good for copied in copies),
        "recommend_back_s_max": max(back, default=0.0),
        "recommend_back_s_median": statistics.median(back) if back else 0.0,
        "recommend_back_from_others_s_max": max(
            list_return_times(course, *(course.kinds.keys() - {API_SERVICE_KILLED})), default=0.0
        ),
        "looks_at_releases": scene.publications.looks,
        "half_published": len(incomplete),
    }


def _list_answered(requests: RequestLoop) -> set[int]:
    return {each.release for each in requests.results if each.release is not None}


_PUBLISHED = "SELECT id FROM releases WHERE published_at IS NOT NULL"


if __name__ == "__main__":
    sys.exit(run_command("faults", lambda: main(sys.argv[1:])))
