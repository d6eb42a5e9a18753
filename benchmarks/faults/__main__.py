"""Faults of every part of the service under load: rows lost or stored twice, transfers failed, time until it is back.

Four agents copy files and upload known rows, each from a home of its own, while parts of the service, or an agent, are
killed and started again, the network between them is cut, the service's disk is full, and clocks are wrong. Someone
asks for a recommendation ten times a second and looks as often at what is in force. At the end all that was
acknowledged is looked for in the database. As root, agents are in a network namespace and the service has a disk of
its own; else these two faults are left out, and said to be.
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

from benchmarks.api.cases import DESTINATIONS, FAMILIES, SOURCE, log_lines
from benchmarks.demo.stack import StackProcess, run_process
from benchmarks.faults.agents import UPLOADED, Agent, make_files
from benchmarks.faults.disk import disk
from benchmarks.faults.kinds import WHOLE_API_KILLED, Fault, Scene, run
from benchmarks.faults.ledger import Ledger, ledger_of
from benchmarks.faults.network import Network, network
from benchmarks.faults.service import API, JOURNAL, SCHEDULE, WORKERS, Service, run_service
from benchmarks.faults.waiting import until
from benchmarks.faults.watching import Asking, Publications
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
"""The one fault of a smoke run: a process that answers, of several."""

BETWEEN_S = 2.0
QUIET_S, SMOKE_QUIET_S = 10.0, 1.0
"""Without a fault, at the beginning: what is seen then is not the faults' doing."""

LONGEST_BACK_S = 5.0
"""Recommendations are to come again so soon after the cause of their absence has ended."""

SERVICE_LOG = ROOT / "var" / "bench" / "faults-service.log"
"""What all parts of the service write, of the last run."""

ENVIRONMENT = {
    "TRADEWIND_REFRESH_INTERVAL_S": "5",
    "TRADEWIND_SWEEP_INTERVAL_S": "5",
    "TRADEWIND_KEPT_RELEASES": "10000",
}
"""Releases are made all the time, so that faults meet them, and none is removed before the end. A smoke run makes one
release alone."""


@dataclass
class Course:
    """What came of it all."""

    results: list[dict[str, Value]] = field(default_factory=list)
    kills: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    ended: list[str] = field(default_factory=list)
    """Parts that no fault was meant for."""


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/faults.json``; 1 where something that must hold did not."""
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="KIND", help="faults whose name has this in it")
    parser.add_argument("--api-processes", type=int, default=2, help="that answer, of which one is killed; else 2")
    options = parser.parse_args(argv)
    rounds, others = (QUICK_ROUNDS, QUICK_OTHERS) if options.quick else (ROUNDS, OTHERS)
    started_at = datetime.now(UTC)
    only = options.only or (SMOKE_KIND if options.smoke else "")
    with (
        nullcontext(False) if options.smoke else take_precedence() as prioritised,
        stage(options.seed, options.api_processes, smoke=options.smoke) as (scene, asking),
    ):
        course = Course()
        quietly(course, asking, SMOKE_QUIET_S if options.smoke else QUIET_S)
        for fault in scene.faults(rounds, others, options.seed):
            if only in fault.kind:
                one(fault, course, asking, scene)
        print("the agents end", flush=True)
        for agent in scene.agents:
            agent.finish()
        uploaded = [agent.stop() for agent in scene.agents]
        with psycopg.connect(scene.service.postgres.url()) as admin:
            run_command = ledger_of(admin, scene.agents)
            published = {release for (release,) in admin.execute(_PUBLISHED)}
        wrong = failures(scene, uploaded)
        wrong += [f"{part} ended by itself" for part in course.ended]
        wrong += [] if options.smoke else late(course.results)
        if not course.kinds:
            wrong.append(f"no fault has {only!r} in its name")
        half = scene.publications.half
        half += [f"release {each} answered and is none" for each in sorted(_answered(asking) - published)]
        for each in (*run_command.wrong, *wrong, *half[:10]):
            print(f"WRONG  {each}", flush=True)
        found = summary(course, run_command, scene, half) | {"went_ahead_of_others": prioritised}
    write_report(
        "faults",
        quick=options.quick,
        smoke=options.smoke,
        results=course.results,
        summary=found,
        started_at=started_at,
    )
    return 1 if run_command.wrong or wrong or half else 0


@contextmanager
def stage(seed: int, api_processes: int, *, smoke: bool) -> Iterator[tuple[Scene, Asking]]:
    """The service, its agents at work, and who watches."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tradewind-faults-")))
        folder.chmod(0o755)
        between = stack.enter_context(network())
        own = stack.enter_context(disk(folder / "service"))
        SERVICE_LOG.parent.mkdir(parents=True, exist_ok=True)
        output = stack.enter_context(SERVICE_LOG.open("wb"))
        whole = stack.enter_context(
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
        key = _key(whole, folder)
        _publish(whole, key, seed)
        agents = stack.enter_context(_agents(folder, whole, key, between, SMOKE_AGENTS if smoke else AGENTS))
        publications = Publications(whole.postgres.url)
        stack.enter_context(run_in_background("publications", publications.run))
        asking = Asking(whole.address, key, _question(), between)
        stack.enter_context(run_in_background("asking", asking.run))
        until(lambda: asking.asked and asking.asked[-1].release is not None, "the first recommendation")
        yield Scene(whole, agents, between, own, publications), asking


def _key(whole: Service, folder: Path) -> str:
    with build_container(database_url=whole.database_url, redis_url=whole.valkey.url()) as parts:
        return ensure_first_key(parts, folder / "key")


def _publish(whole: Service, key: str, seed: int) -> None:
    with httpx.Client(base_url=whole.address, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        client.post("/v1/logs", content=b"".join(log_lines(seed))).raise_for_status()
        until(lambda: all(link["release"] for link in client.get("/v1/links").json()), "a release of all links")


def _question() -> dict[str, object]:
    files = FAMILIES["medium"]
    dataset = {"file_count": files.file_count, "total_bytes": files.total_bytes}
    return {"source": SOURCE, "destination": DESTINATIONS[0], "dataset": dataset, "sla": {"kind": "max_throughput"}}


@contextmanager
def _agents(folder: Path, whole: Service, key: str, between: Network, count: int) -> Iterator[list[Agent]]:
    make_files(folder / "files")
    command = (*PYTHON, "tradewind_agent", "serve-files", str(folder / "files"), "--port", "0", "--json")
    with run_process("origin", between.command(command), logs=folder, environment={"PYTHONUNBUFFERED": "1"}) as origin:
        address = f"http://127.0.0.1:{_port(origin)}/"
        agents = [
            Agent(number, folder / f"agent {number}", folder / "files", address, whole.address, key, between)
            for number in range(count)
        ]
        try:
            for agent in agents:
                agent.start()
            yield agents
        finally:
            for agent in agents:
                agent.end()


def _port(origin: StackProcess) -> int:
    return int(origin.wait_for_line(r'"port": ?(\d+)')[1])


def quietly(course: Course, asking: Asking, for_s: float) -> None:
    """A while without a fault."""
    began_s = time.monotonic()
    time.sleep(for_s)
    missed = asking.missed_between(began_s, time.monotonic())
    course.results.append({"case": "no fault", "lasted_s": for_s, "missed": len(missed), "back_s": 0.0})


def one(fault: Fault, course: Course, asking: Asking, scene: Scene) -> None:
    """One fault, and what became of recommendations."""
    began_s, ended_s = run(fault)
    back_s = asking.steady_since(ended_s)
    missed = asking.missed_between(began_s, time.monotonic())
    course.kinds[fault.kind] += 1
    course.kills += fault.is_kill
    course.results.append({"case": fault.kind, "lasted_s": ended_s - began_s, "missed": len(missed), "back_s": back_s})
    reasons = Counter(each.reason for each in missed).most_common(2)
    run_command = (
        f"recommend back {back_s:.2f} s after its end, {len(missed)} missed {dict(reasons) if reasons else ''}"
    )
    copies = sum(len(agent.copies) for agent in scene.agents)
    print(
        f"{sum(course.kinds.values()):3} {fault.kind}, {ended_s - began_s:.1f} s: {run_command}; {copies} copies",
        flush=True,
    )
    if ended := scene.service.ended():
        print(f"    ended by themselves: {', '.join(ended)}; see {SERVICE_LOG.relative_to(ROOT)}", flush=True)
        course.ended += ended
        for part in ended:
            scene.service.bring_back(part)
    time.sleep(BETWEEN_S)


def failures(scene: Scene, uploaded: Sequence[bool]) -> list[str]:
    """What did not hold beside the ledger, in words."""
    found = []
    for agent, was_uploaded in zip(scene.agents, uploaded, strict=True):
        found += [
            f"a copy of agent {agent.number} failed ({copied.code}): {copied.told}"
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


def late(results: Sequence[Mapping[str, Value]]) -> list[str]:
    """Faults after which recommendations were away for too long, in words."""
    return [
        f"recommendations were back {each['back_s']:.1f} s after {each['case']}"
        for each in results
        if isinstance(each["back_s"], float) and each["back_s"] > LONGEST_BACK_S
    ]


def back_after(course: Course, *kinds: str) -> list[float]:
    """When recommendations were back after each fault of these kinds, s."""
    run_command = (each["back_s"] for each in course.results if each["case"] in kinds)
    return [each for each in run_command if isinstance(each, float)]


def summary(course: Course, run_command: Ledger, scene: Scene, half: Sequence[str]) -> dict[str, Value]:
    """The figures to judge by."""
    copies = [copied for agent in scene.agents for copied in agent.copies]
    back = back_after(course, *course.kinds)
    return {
        "faults_injected": sum(course.kinds.values()),
        "kills": course.kills,
        "faults_by_kind": dict(course.kinds),
        "skipped": scene.skipped(),
        "acked_rows": run_command.acked_rows,
        "lost_rows": run_command.lost_rows,
        "duplicate_rows": run_command.duplicate_rows,
        "miscounted_rows": run_command.miscounted_rows,
        "quarantined_rows": run_command.quarantined_rows,
        "heartbeats": run_command.heartbeats,
        "lost_heartbeats": run_command.lost_heartbeats,
        "duplicate_heartbeats": run_command.duplicate_heartbeats,
        "ended_by_themselves": len(course.ended),
        "transfers": len(copies),
        "transfers_interrupted": sum(not copied.is_good for copied in copies),
        "recommend_back_s_max": max(back, default=0.0),
        "recommend_back_s_median": statistics.median(back) if back else 0.0,
        "recommend_back_from_others_s_max": max(
            back_after(course, *(course.kinds.keys() - {WHOLE_API_KILLED})), default=0.0
        ),
        "looks_at_releases": scene.publications.looks,
        "half_published": len(half),
    }


def _answered(asking: Asking) -> set[int]:
    return {each.release for each in asking.asked if each.release is not None}


_PUBLISHED = "SELECT id FROM releases WHERE published_at IS NOT NULL"


if __name__ == "__main__":
    sys.exit(run_command("faults", lambda: main(sys.argv[1:])))
