"""Compare FLD_TCP with CUBIC and Reno on real TCP: rounds on the wire, short flows and pages on LTE- and 3G-like paths.

The benchmark installs FLD_TCP for the run where it is missing, and removes it afterwards. A row is measured again after
a pause if other programs disturbed it, or if its bulk flow was missing; it counts for nothing where that does not help.
Rows are stored in ``var/bench/transport-runs.ndjson``, from which an interrupted benchmark continues. It takes about an
hour, and needs what `tradewind transport install` and the testbed need: root, a kernel with BTF, clang and bpftool; and
Chromium.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.support.command import run_command
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import ROOT, Value, judge_summary, make_parser, open_scratch_folder, write_report
from benchmarks.support.sources import Sources, digest_values
from benchmarks.testbed.permissions import require_permission
from benchmarks.testbed.soundness import PAUSES_S
from benchmarks.transport.cases import (
    CUBIC,
    ENGINE,
    FLD,
    LONG_FLOW,
    LONG_FLOW_BYTES,
    PAGES,
    QUICK_LONG_FLOW_BYTES,
    QUICK_SIZES_BYTES,
    RENO,
    ROUNDS,
    SHORT_FLOWS,
    SIZES_BYTES,
    PageCase,
)
from benchmarks.transport.engine import measure_engine_copies
from benchmarks.transport.installed import install_fld_tcp
from benchmarks.transport.measuring import count_rounds, describe_conditions, measure_long_flow, measure_short_flows
from benchmarks.transport.pages import draw_typical_sizes, load_pages, make_page_row, read_har_sizes
from benchmarks.transport.rows import DISTURBED, PARTS, Row, Rows
from benchmarks.wan.runs import RunLog

REPEATS, QUICK_REPEATS = 10, 4
BACKGROUND_REPEATS = 20
LONG_REPEATS, QUICK_LONG_REPEATS = 4, 2
PAGE_REPEATS, QUICK_PAGE_REPEATS = 12, 2
ENGINE_REPEATS, QUICK_ENGINE_REPEATS = 6, 2
"""All are even, so that each congestion control is as often first as second.

Flows with background traffic have the most repeats: their times depend on how far the other windows have grown just
then, and fall into two or three groups. The paper loaded each page 11 times (section 3). Copies have the fewest: 0.9 s
of each is the start of its program.
"""

SMOKE_ROUNDS, SMOKE_SIZES_BYTES, SMOKE_PAGE_BYTES = 2, (50_000,), (20_000, 5_000)

RUNS = ROOT / "var" / "bench" / "transport-runs.ndjson"

WORTH_IT = 1.15
"""A gain by the model with an even share, from which on it should show."""


AT_MOST = {"fld_rounds_500kB": 4.0, "fld_long_flow_share": 1.25, "rows_disturbed": 0}
AT_LEAST = {
    "reno_rounds_500kB": 6.0,
    "fld_long_flow_share": 0.8,
    "fld_vs_cubic_short_flows": 1.15,
    "fld_even_share_fraction": 0.9,
    "engine_gain_min": 0.9,
    "page_net_transfer_gain": 0.95,
    "page_net_transfer_gain_min": 0.9,
}
"""Pages and copies need not gain, but none may lose more than a tenth."""


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/transport.json``."""
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument(
        "--case", nargs="+", help="only short flows of these", choices=[case.name for case in SHORT_FLOWS]
    )
    parser.add_argument("--har", type=Path, help="replay the sizes of its first page; else a page like the paper's")
    return run_command("transport", partial(_run, parser.parse_args(argv)), is_resumable=True)


def _run(options: argparse.Namespace) -> int:
    started_at = datetime.now(UTC)
    require_permission()
    sources, pauses_s = Sources.of(PARTS), () if options.quick else PAUSES_S
    with (
        install_fld_tcp(),
        nullcontext(False) if options.quick else take_precedence() as prioritised,
        open_scratch_folder("transport", RUNS.parent, is_removed=options.smoke or options.quick) as folder,
    ):
        rows_log = Rows(log=RunLog(folder / RUNS.name), sources=sources, prioritised=prioritised, pauses_s=pauses_s)
        if options.smoke:
            rows = list(_measure_smallest(rows_log, seed=options.seed))
        else:
            rows = list(_measure_rows(rows_log, quick=options.quick, case_names=options.case))
        if options.case is None and not options.smoke:
            sizes = (
                draw_typical_sizes(options.seed) if options.har is None else read_har_sizes(options.har.read_bytes())
            )
            rows += _measure_pages(rows_log, sizes, quick=options.quick, seed=options.seed)
    found = summarise(rows)
    write_report(
        "transport", quick=options.quick, smoke=options.smoke, results=rows, summary=found, started_at=started_at
    )
    return 0 if options.quick else judge_summary(found, AT_MOST, AT_LEAST, is_complete=options.case is None)


def _measure_rows(rows_log: Rows, *, quick: bool, case_names: Sequence[str] | None) -> Iterator[Row]:
    """Yield the measured rows, then the conditions of all of them."""
    repeats, long_repeats = (QUICK_REPEATS, QUICK_LONG_REPEATS) if quick else (REPEATS, LONG_REPEATS)
    sizes_bytes = QUICK_SIZES_BYTES if quick else SIZES_BYTES
    short = [case for case in SHORT_FLOWS if case_names is None or case.name in case_names]
    for case in short:
        flow_repeats = BACKGROUND_REPEATS if case.background and not quick else repeats
        yield from measure_short_flows(case, sizes_bytes, flow_repeats, rows_log)
    if case_names is None:
        yield measure_long_flow(LONG_FLOW, QUICK_LONG_FLOW_BYTES if quick else LONG_FLOW_BYTES, long_repeats, rows_log)
        for rounds_case in ROUNDS:
            yield count_rounds(rounds_case, repeats, rows_log)
    yield from map(describe_conditions, short)
    if case_names is None:
        yield describe_conditions(LONG_FLOW)
        yield from map(describe_conditions, ROUNDS)


def _measure_smallest(rows_log: Rows, *, seed: int) -> Iterator[Row]:
    """Yield one row of each kind: short flows, rounds on the wire, a page in a browser, copies by our engine."""
    repeats, case = SMOKE_ROUNDS, SHORT_FLOWS[0]
    yield from measure_short_flows(case, SMOKE_SIZES_BYTES, repeats, rows_log)
    yield count_rounds(ROUNDS[0], 1, rows_log)
    yield describe_conditions(case)
    page = PAGES[0]
    measure = partial(
        _measure_page, page, SMOKE_PAGE_BYTES, repeats=repeats, seed=seed, prioritised=rows_log.prioritised
    )
    yield rows_log.find_or_measure(page.name, page.flows.path, f"{repeats} repeats", measure=measure)
    yield from measure_engine_copies(ENGINE[0], (), SMOKE_PAGE_BYTES, repeats=repeats, seed=seed, rows=rows_log)


def _measure_pages(rows_log: Rows, sizes_bytes: Sequence[int], *, quick: bool, seed: int) -> Iterator[Row]:
    repeats = QUICK_PAGE_REPEATS if quick else PAGE_REPEATS
    for case in PAGES:
        key_parts = (case.flows.path, case.flows.buffers, f"{repeats} repeats", seed, digest_values(*sizes_bytes))
        attempt = partial(
            _measure_page, case, sizes_bytes, repeats=repeats, seed=seed, prioritised=rows_log.prioritised
        )
        yield rows_log.find_or_measure(case.name, *key_parts, measure=attempt)
    repeats = QUICK_ENGINE_REPEATS if quick else ENGINE_REPEATS
    flows = QUICK_SIZES_BYTES if quick else SIZES_BYTES
    for ground in ENGINE[:1] if quick else ENGINE:
        yield from measure_engine_copies(ground, flows, sizes_bytes, repeats=repeats, seed=seed, rows=rows_log)


def _measure_page(case: PageCase, sizes_bytes: Sequence[int], *, repeats: int, seed: int, prioritised: bool) -> Row:
    return make_page_row(
        case, sizes_bytes, load_pages(case, sizes_bytes, repeats=repeats, seed=seed, prioritised=prioritised)
    )


def summarise(rows: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """Return the figures to judge by, of undisturbed rows only.

    ``rows_disturbed`` : number of rows that other work of the machine spoiled in every attempt; they are in no other
    figure. ``fld_vs_cubic_short_flows`` : median gain of the flows for which the model with an even share has
    `WORTH_IT`. ``fld_even_share_fraction`` : least share of that model's gain, of all short flows.
    """
    if not rows:
        return {}
    all_rows, rows = rows, [row for row in rows if not row.get(DISTURBED)]
    figures: dict[str, Value] = {"rows_disturbed": len(all_rows) - len(rows)}
    for row in rows:
        if row["case"] == ROUNDS[0].name and f"{FLD}_rounds" in row:
            names = {FLD: "fld_rounds_500kB", RENO: "reno_rounds_500kB", CUBIC: "cubic_rounds_500kB"}
            figures |= {name: row[f"{control}_rounds"] for control, name in names.items()}
        if "share" in row:
            figures["fld_long_flow_share"] = row["share"]
    short = [row for row in rows if "of_even_share" in row]
    worth = [_require_number(row["gain"]) for row in short if _require_number(row["even_share_gain"]) >= WORTH_IT]
    if worth:
        figures["fld_vs_cubic_short_flows"] = statistics.median(worth)
    if short:
        figures["fld_even_share_fraction"] = min(_require_number(row["of_even_share"]) for row in short)
        figures["fld_even_share_fraction_median"] = statistics.median(
            _require_number(row["of_even_share"]) for row in short
        )
    copies = [_require_number(row["engine_gain"]) for row in rows if "engine_gain" in row]
    if copies:
        figures["engine_gain_median"], figures["engine_gain_min"] = statistics.median(copies), min(copies)
    return figures | _summarise_pages([row for row in rows if f"{FLD}_net_s" in row])


def _summarise_pages(pages: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    if not pages:
        return {}
    gains = [_require_number(row[f"{CUBIC}_net_s"]) / _require_number(row[f"{FLD}_net_s"]) for row in pages]
    figures: dict[str, Value] = {
        "page_net_transfer_gain": statistics.median(gains),
        "page_net_transfer_gain_min": min(gains),
    }
    for control in (CUBIC, FLD):
        for figure in ("idle_share", "concurrency"):
            of_pages = [_require_number(row[f"{control}_{figure}"]) for row in pages]
            figures[f"page_{figure}_{control}"] = statistics.median(of_pages)
    hits = [_require_number(row["hit_share"]) for row in pages if "hit_share" in row]
    if hits:
        figures["page_proxy_hit_share_min"] = min(hits)
    return figures


def _require_number(value: Value) -> float:
    assert isinstance(value, int | float)
    return float(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
