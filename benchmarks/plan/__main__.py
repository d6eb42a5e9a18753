"""Plan the measurements of all benchmarks, make those that are stale, or look for regressions.

``--plan`` lists each benchmark with the day and commit of its record, what has changed since, and how long it takes.
``--plan --measure`` measures what is stale, one after the other, on a quiet machine; each record is stored as soon as
it is made, so that an interrupted plan goes on with the next. ``--check`` runs the quick form of each and compares it
with its record; a figure that is worse is measured twice more, and the median decides. ``--check --record`` makes
these records. All take names of benchmarks; without one they take all.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.plan.catalogue import PLAN, Planned
from benchmarks.plan.checking import Comparison, compare, list_unmeasured
from benchmarks.plan.measuring import BenchmarkFailed, measure, wait_until_quiet
from benchmarks.plan.records import Record, RecordStore, list_changed
from benchmarks.support.command import run_command
from benchmarks.support.report import Value, format_table, parse_existing_folder
from tradewind.errors import InvalidValue

REPEATS = 3
SHOWN_CHANGES = 2


def main(argv: Sequence[str]) -> int:
    """List, measure or check; return 1 where something is worse or has failed."""
    options = _build_parser().parse_args(argv)
    return run_command("plan", partial(_run, options), is_resumable=True)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./run bench", description=(__doc__ or "").partition("\n")[0])
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--plan", action="store_true", help="list the records, what is stale and how long each takes")
    form.add_argument("--check", action="store_true", help="compare quick forms with their records")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these benchmarks")
    parser.add_argument("--measure", action="store_true", help="with --plan: measure what is stale")
    parser.add_argument("--record", action="store_true", help=f"with --check: make the records, of {REPEATS} repeats")
    parser.add_argument("--busy", action="store_true", help="measure although other programs run")
    parser.add_argument("--json", action="store_true", help="print the list or the comparison as JSON")
    parser.add_argument(
        "--data", type=parse_existing_folder, nargs="+", default=[], metavar="DIR", help="folders of measurements"
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    chosen = _choose(options.names)
    if (options.measure and options.check) or (options.record and options.plan):
        raise InvalidValue("--measure", "goes with --plan, and --record with --check")
    if options.plan:
        return _measure_stale(chosen, options) if options.measure else _list_plan(chosen, options)
    return _record_quick(chosen, options) if options.record else _check(chosen, options)


def _choose(names: Sequence[str]) -> list[Planned]:
    by_name = {planned.name: planned for planned in PLAN}
    for name in names:
        if name not in by_name:
            raise InvalidValue("NAME", f"{name!r} is not in the plan; there are {', '.join(by_name)}")
    return [planned for planned in PLAN if not names or planned.name in names]


def _list_plan(chosen: Sequence[Planned], options: argparse.Namespace) -> int:
    store = RecordStore(quick=False)
    rows = [_describe(planned, store.find(planned.name)) for planned in chosen]
    if options.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    sys.stdout.write(f"{format_table(rows)}\n")
    stale = [row for row in rows if row["stale because of"] != ""]
    minutes = sum(int(str(row["minutes"])) for row in stale)
    sys.stdout.write(f"\n{len(stale)} of {len(rows)} are stale; they take about {minutes / 60:.1f} hours\n")
    return 0


def _describe(planned: Planned, record: Record | None) -> dict[str, Value]:
    return {
        "benchmark": planned.name,
        "measured": record.day if record else None,
        "commit": record.commit[:8] if record else None,
        "minutes": max(round(record.seconds / 60), 1) if record and not planned.is_resumable else planned.minutes,
        "others took": f"{record.others_share:.0%}" if record else None,
        "needs": "--data" if planned.needs_data else "",
        "stale because of": "no record" if record is None else _shorten(list_changed(planned, record)),
    }


def _shorten(changed: Sequence[str]) -> str:
    more = len(changed) - SHOWN_CHANGES
    return ", ".join(changed[:SHOWN_CHANGES]) + (f" and {more} more" if more > 0 else "")


def _measure_stale(chosen: Sequence[Planned], options: argparse.Namespace) -> int:
    store, failed = RecordStore(quick=False), []
    stale = [each for each in chosen if (known := store.find(each.name)) is None or list_changed(each, known)]
    for number, planned in enumerate(stale, start=1):
        if planned.needs_data and not options.data:
            sys.stderr.write(f"{number} of {len(stale)}: {planned.name} is left out, as it needs --data\n")
            continue
        sys.stderr.write(f"{number} of {len(stale)}: {planned.name}, usually {planned.minutes} minutes\n")
        if not options.busy:
            wait_until_quiet()
        try:
            store.store(measure(planned, _list_arguments(planned, options.data)))
        except BenchmarkFailed as failure:
            failed.append(planned.name)
            sys.stderr.write(f"  {failure}\n")
    _list_plan(chosen, options)
    if failed:
        sys.stderr.write(f"without a report: {', '.join(failed)}\n")
    return 1 if failed else 0


def _record_quick(chosen: Sequence[Planned], options: argparse.Namespace) -> int:
    store, incomplete = RecordStore(quick=True), False
    for planned in chosen:
        if planned.needs_data and not planned.is_quick_without_data and not options.data:
            sys.stderr.write(f"{planned.name} is left out, as it needs --data\n")
            continue
        if not options.busy:
            wait_until_quiet()
        runs = [measure(planned, _list_quick_arguments(planned, options.data)) for _ in range(REPEATS)]
        if lacking := list_unmeasured(planned, [run.summaries[0] for run in runs]):
            incomplete = True
            sys.stderr.write(f"{planned.name}: not stored, as its quick form lacks {', '.join(lacking)}\n")
            continue
        store.store(
            replace(
                runs[-1],
                others_share=max(run.others_share for run in runs),
                stolen_share=max(run.stolen_share for run in runs),
                summaries=[run.summaries[0] for run in runs],
            )
        )
        sys.stderr.write(f"{planned.name}: the record of {REPEATS} quick runs is stored\n")
    return 1 if incomplete else 0


def _check(chosen: Sequence[Planned], options: argparse.Namespace) -> int:
    store, rows, worse = RecordStore(quick=True), list[dict[str, Value]](), False
    for planned in chosen:
        if planned.needs_data and not planned.is_quick_without_data and not options.data:
            rows.append({"benchmark": planned.name, "verdict": "needs --data"})
            continue
        record = store.find(planned.name)
        if record is None:
            rows.append({"benchmark": planned.name, "verdict": "no record; --check --record makes it"})
            continue
        found = _compare_until_sure(planned, record, options)
        rows += [_describe_comparison(planned, each) for each in found]
        rows += [
            {"benchmark": planned.name, "figure": figure, "verdict": "not in its record"}
            for figure in list_unmeasured(planned, record.summaries)
        ]
        worse = worse or any(each.is_worse for each in found)
    sys.stdout.write(json.dumps(rows, indent=2) + "\n" if options.json else f"{format_table(rows)}\n")
    if not any("now" in row for row in rows):
        raise InvalidValue("--check", "has compared nothing: no record, or no --data")
    return 1 if worse else 0


def _compare_until_sure(planned: Planned, record: Record, options: argparse.Namespace) -> list[Comparison]:
    """Compare one run, and where that is worse the median of three."""
    runs = []
    while True:
        runs.append(measure(planned, _list_quick_arguments(planned, options.data)).summaries[0])
        found = compare(planned, record, runs)
        if len(runs) == REPEATS or not any(each.is_worse for each in found):
            return found


def _describe_comparison(planned: Planned, found: Comparison) -> dict[str, Value]:
    return {
        "benchmark": planned.name,
        "figure": found.figure,
        "now": found.value,
        "record": found.usual,
        "bound": found.bound,
        "verdict": "WORSE" if found.is_worse else "as before",
    }


def _list_quick_arguments(planned: Planned, data: Sequence[Path]) -> list[str]:
    return ["--quick"] if planned.is_quick_without_data else ["--quick", *_list_arguments(planned, data)]


def _list_arguments(planned: Planned, data: Sequence[Path]) -> list[str]:
    return ["--data", *map(str, data)] if planned.needs_data and data else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
