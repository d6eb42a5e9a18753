"""FLD_TCP beside CUBIC and Reno on real TCP: rounds on the wire, short flows and pages on LTE- and 3G-like paths.

FLD_TCP is installed for the run where it is not, and removed afterwards. What other programs disturbed, or had no bulk
flow beside it that should have, is measured again after a pause, and counts for nothing where that does not help. Rows
are kept in ``var/bench/transport-runs.ndjson``: an interrupted benchmark goes on where it was. It takes about an
hour, and needs what `tradewind transport install` and the testbed need: root, a kernel with BTF, clang and bpftool;
and Chromium.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.support.command import told
from benchmarks.support.precedence import precedence
from benchmarks.support.report import ROOT, Value, arguments, judge, scratch_of, write
from benchmarks.support.sources import Sources, digest_of
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
from benchmarks.transport.engine import engine_copies
from benchmarks.transport.installed import fld_tcp_installed
from benchmarks.transport.measuring import conditions, count_rounds, long_flow, short_flows
from benchmarks.transport.pages import load_pages, row_of, sizes_of_har, typical_sizes
from benchmarks.transport.rows import DISTURBED, PARTS, Row, Rows
from benchmarks.wan.runs import RunLog

REPEATS, QUICK_REPEATS = 10, 4
BESIDE_REPEATS = 20
LONG_REPEATS, QUICK_LONG_REPEATS = 4, 2
PAGE_REPEATS, QUICK_PAGE_REPEATS = 12, 2
ENGINE_REPEATS, QUICK_ENGINE_REPEATS = 6, 2
"""All even, so that each congestion control is as often first as second. Flows beside others have the most: their times
depend on how far the others' windows have grown just then, and are of two or three kinds more than of one. The paper
loaded each page 11 times (section 3). Copies are the fewest: of each 0.9 s is the start of its program."""

SMOKE_TURNS, SMOKE_SIZES_BYTES, SMOKE_PAGE_BYTES = 2, (50_000,), (20_000, 5_000)

RUNS = ROOT / "var" / "bench" / "transport-runs.ndjson"

WORTH_IT = 1.15
"""A gain by the model with an even share from which on it should show."""


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
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument(
        "--case", nargs="+", help="only short flows of these", choices=[each.name for each in SHORT_FLOWS]
    )
    parser.add_argument("--har", type=Path, help="replay the sizes of its first page; else a page like the paper's")
    return told("transport", partial(_run, parser.parse_args(argv)), goes_on=True)


def _run(options: argparse.Namespace) -> int:
    started_at = datetime.now(UTC)
    require_permission()
    sources, pauses_s = Sources.of(PARTS), () if options.quick else PAUSES_S
    with (
        fld_tcp_installed(),
        nullcontext(False) if options.quick else precedence() as ahead,
        scratch_of("transport", RUNS.parent, smoke=options.smoke) as kept,
    ):
        known = Rows(log=RunLog(kept / RUNS.name), sources=sources, ahead=ahead, pauses_s=pauses_s)
        if options.smoke:
            rows = list(_smallest(known, seed=options.seed))
        else:
            rows = list(_rows(known, quick=options.quick, wanted=options.case))
        if options.case is None and not options.smoke:
            sizes = typical_sizes(options.seed) if options.har is None else sizes_of_har(options.har.read_bytes())
            rows += _pages(known, sizes, quick=options.quick, seed=options.seed)
    found = summary(rows)
    write("transport", quick=options.quick, smoke=options.smoke, results=rows, summary=found, started_at=started_at)
    return 0 if options.quick else judge(found, AT_MOST, AT_LEAST, whole=options.case is None)


def _rows(known: Rows, *, quick: bool, wanted: Sequence[str] | None) -> Iterator[Row]:
    """What was measured, then the conditions of all of it."""
    repeats, long_repeats = (QUICK_REPEATS, QUICK_LONG_REPEATS) if quick else (REPEATS, LONG_REPEATS)
    sizes_bytes = QUICK_SIZES_BYTES if quick else SIZES_BYTES
    short = [case for case in SHORT_FLOWS if wanted is None or case.name in wanted]
    for case in short:
        beside = BESIDE_REPEATS if case.background and not quick else repeats
        yield from short_flows(case, sizes_bytes, beside, known)
    if wanted is None:
        yield long_flow(LONG_FLOW, QUICK_LONG_FLOW_BYTES if quick else LONG_FLOW_BYTES, long_repeats, known)
        for counted in ROUNDS:
            yield count_rounds(counted, repeats, known)
    yield from map(conditions, short)
    if wanted is None:
        yield conditions(LONG_FLOW)
        yield from map(conditions, ROUNDS)


def _smallest(known: Rows, *, seed: int) -> Iterator[Row]:
    """Yield one row of each sort: short flows, rounds on the wire, a page in a browser, copies by our engine."""
    repeats, case = SMOKE_TURNS, SHORT_FLOWS[0]
    yield from short_flows(case, SMOKE_SIZES_BYTES, repeats, known)
    yield count_rounds(ROUNDS[0], 1, known)
    yield conditions(case)
    page = PAGES[0]
    by = partial(_page, page, SMOKE_PAGE_BYTES, repeats=repeats, seed=seed, ahead=known.ahead)
    yield known.made(page.name, page.flows.path, f"{repeats} repeats", by=by)
    yield from engine_copies(ENGINE[0], (), SMOKE_PAGE_BYTES, repeats=repeats, seed=seed, rows=known)


def _pages(known: Rows, sizes_bytes: Sequence[int], *, quick: bool, seed: int) -> Iterator[Row]:
    repeats = QUICK_PAGE_REPEATS if quick else PAGE_REPEATS
    for case in PAGES:
        facts = (case.flows.path, case.flows.buffers, f"{repeats} repeats", seed, digest_of(*sizes_bytes))
        attempt = partial(_page, case, sizes_bytes, repeats=repeats, seed=seed, ahead=known.ahead)
        yield known.made(case.name, *facts, by=attempt)
    repeats = QUICK_ENGINE_REPEATS if quick else ENGINE_REPEATS
    flows = QUICK_SIZES_BYTES if quick else SIZES_BYTES
    for ground in ENGINE[:1] if quick else ENGINE:
        yield from engine_copies(ground, flows, sizes_bytes, repeats=repeats, seed=seed, rows=known)


def _page(case: PageCase, sizes_bytes: Sequence[int], *, repeats: int, seed: int, ahead: bool) -> Row:
    return row_of(case, sizes_bytes, load_pages(case, sizes_bytes, repeats=repeats, seed=seed, ahead=ahead))


def summary(rows: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """The figures to judge by; only those of what was measured while nothing disturbed it.

    ``rows_disturbed`` : rows that other work of the machine spoiled each time, of which nothing is told but that.
    ``fld_vs_cubic_short_flows`` : median gain of the flows of which the model with an even share has `WORTH_IT`.
    ``fld_even_share_fraction`` : least share of that model's gain, of all short flows.
    """
    if not rows:
        return {}
    every, rows = rows, [row for row in rows if not row.get(DISTURBED)]
    figures: dict[str, Value] = {"rows_disturbed": len(every) - len(rows)}
    for row in rows:
        if row["case"] == ROUNDS[0].name and f"{FLD}_rounds" in row:
            names = {FLD: "fld_rounds_500kB", RENO: "reno_rounds_500kB", CUBIC: "cubic_rounds_500kB"}
            figures |= {name: row[f"{control}_rounds"] for control, name in names.items()}
        if "share" in row:
            figures["fld_long_flow_share"] = row["share"]
    short = [row for row in rows if "of_even_share" in row]
    worth = [_number(row["gain"]) for row in short if _number(row["even_share_gain"]) >= WORTH_IT]
    if worth:
        figures["fld_vs_cubic_short_flows"] = statistics.median(worth)
    if short:
        figures["fld_even_share_fraction"] = min(_number(row["of_even_share"]) for row in short)
        figures["fld_even_share_fraction_median"] = statistics.median(_number(row["of_even_share"]) for row in short)
    copies = [_number(row["engine_gain"]) for row in rows if "engine_gain" in row]
    if copies:
        figures["engine_gain_median"], figures["engine_gain_min"] = statistics.median(copies), min(copies)
    return figures | _of_pages([row for row in rows if f"{FLD}_net_s" in row])


def _of_pages(pages: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    if not pages:
        return {}
    gains = [_number(row[f"{CUBIC}_net_s"]) / _number(row[f"{FLD}_net_s"]) for row in pages]
    figures: dict[str, Value] = {
        "page_net_transfer_gain": statistics.median(gains),
        "page_net_transfer_gain_min": min(gains),
    }
    for control in (CUBIC, FLD):
        for figure in ("idle_share", "concurrency"):
            of_pages = [_number(row[f"{control}_{figure}"]) for row in pages]
            figures[f"page_{figure}_{control}"] = statistics.median(of_pages)
    hits = [_number(row["hit_share"]) for row in pages if "hit_share" in row]
    if hits:
        figures["page_proxy_hit_share_min"] = min(hits)
    return figures


def _number(value: Value) -> float:
    assert isinstance(value, int | float)
    return float(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
