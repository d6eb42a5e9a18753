"""Attack the service from inside and outside: what gets through, and what a victim of another tenant notices.

The table of attacks is in `benchmarks.attack.cases`: tenants, customers of one tenant, users, unauthenticated clients
and other accounts of the host against the complete service on embedded servers of its own. Then a hostile tenant does
everything at once while a victim of another tenant requests recommendations: times with and without it alternate in
the same run.
"""

import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime

from benchmarks.attack import customers, hosts, matrix, readers, unauthenticated
from benchmarks.attack.cases import CASES, Case, Lost, NotApplicable
from benchmarks.attack.scene import SERVICE_LOG, Scene, set_up_scene
from benchmarks.attack.tilt import THREADS, VictimTimes, alternate, compute_p99_s
from benchmarks.support.command import run_command
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import Value, judge_summary, make_parser, write_report

TABLES = (matrix, customers, readers, unauthenticated, hosts)
"""Modules whose functions are the cases."""

ROUNDS, QUICK_ROUNDS, SMOKE_ROUNDS = 6, 3, 1
WINDOW_S, QUICK_WINDOW_S, SMOKE_WINDOW_S = 20.0, 8.0, 2.0
SMOKE_CASES = ("every call as every scope", "statistics in plans", "heartbeats in another customers transfer")
AT_MOST = {"cases_lost": 0.0, "victim_p99_ratio": 2.0, "victim_errors": 0.0, "parts_restarted": 0.0}


def main(argv: Sequence[str]) -> int:
    """Attack, print and write ``var/bench/attack.json``; return 1 where a case was lost or a bound missed."""
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="WORDS", help="only cases whose name contains this")
    parser.add_argument(
        "--hostile", nargs="+", choices=tuple(THREADS), default=list(THREADS), help="what the hostile tenant does"
    )
    options = parser.parse_args(argv)
    rounds, window_s = (QUICK_ROUNDS, QUICK_WINDOW_S) if options.quick else (ROUNDS, WINDOW_S)
    if options.smoke:
        rounds, window_s = SMOKE_ROUNDS, SMOKE_WINDOW_S
    started_at = datetime.now(UTC)
    chosen = [case for case in CASES if options.only in case.name and (not options.smoke or case.name in SMOKE_CASES)]
    with (
        nullcontext(False) if options.smoke else take_precedence() as prioritised,
        set_up_scene(options.seed, smoke=options.smoke) as scene,
    ):
        postmaster = scene.service.postgres.process_id
        results = [run_case(case, scene) for case in chosen]
        times, made = alternate(scene, rounds, window_s, options.hostile)
        restarted = [*scene.service.list_stopped()]
        restarted += ["postgres"] if scene.service.postgres.process_id != postmaster else []
        restarted += list_restarted(SERVICE_LOG.read_text(encoding="utf-8", errors="replace"))
    results += [{"case": f"hostile: {name}", "calls": count} for name, count in sorted(made.items())]
    found = summarise(results, times) | {"parts_restarted": len(restarted), "went_ahead_of_others": prioritised}
    for part in restarted:
        print(f"RESTARTED  {part}", flush=True)
    write_report(
        "attack", quick=options.quick, smoke=options.smoke, results=results, summary=found, started_at=started_at
    )
    bounds = {name: bound for name, bound in AT_MOST.items() if not options.quick or name != "victim_p99_ratio"}
    return judge_summary(found, bounds)


def run_case(case: Case, scene: Scene) -> dict[str, Value]:
    """Run one attack; a case that fails in another way than it foresees counts as lost."""
    started_s, calls, result, reason = time.monotonic(), 0, "held", ""
    try:
        calls = case.run(scene)
    except NotApplicable as why:
        result, reason = "not applicable", str(why)
    except Lost as lost:
        result, reason = "lost", str(lost)
    except Exception as error:  # noqa: BLE001 - the others are tried all the same
        traceback.print_exc()
        result, reason = "lost", f"{type(error).__name__}: {error}"
    took_s = time.monotonic() - started_s
    print(f"{result.upper() if result == 'lost' else result:14} {case.name} ({took_s:.1f} s) {reason}", flush=True)
    return {"case": case.name, "between": case.between, "result": result, "calls": calls, "reason": reason[:200]}


def list_restarted(log: str) -> list[str]:
    """Return the parts that the service says it had to start again."""
    return [line for line in log.splitlines() if "was started again" in line]


def summarise(results: Sequence[dict[str, Value]], times: VictimTimes) -> dict[str, Value]:
    """Return the figures to judge by."""
    quiet_s, attacked_s = compute_p99_s(times.quiet_s), compute_p99_s(times.attacked_s)
    return {
        "cases": sum("result" in each for each in results),
        "cases_lost": sum(each.get("result") == "lost" for each in results),
        "cases_not_applicable": sum(each.get("result") == "not applicable" for each in results),
        "victim_p99_ratio": attacked_s / quiet_s,
        "victim_p99_ms": 1e3 * quiet_s,
        "victim_p99_attacked_ms": 1e3 * attacked_s,
        "victim_calls": len(times.quiet_s) + len(times.attacked_s),
        "victim_errors": sum(times.errors.values()),
        "victim_errors_by_reason": dict(times.errors),
    }


if __name__ == "__main__":
    sys.exit(run_command("attack", lambda: main(sys.argv[1:])))
