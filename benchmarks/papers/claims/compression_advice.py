"""What our advice makes of the compressed-transfer paper's tables (003), and what the sign of its errors says.

A table has ratios and what transfers reached, not how fast codecs were: that is solved from its faster network, where
codecs and not the path set the pace. On the slower one most rows are as fast as ratio and path allow, whatever the
codec. Advice for the slower network is thus a prediction.
"""

from collections.abc import Iterator, Mapping
from math import sqrt
from operator import itemgetter
from typing import Any

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import Comparison, Finding, compare_computed, compare_property, make_finding
from benchmarks.papers.trials.measured_packing import compute_error_pct
from tradewind.compression.advice import CodecAdvice, CompressionQuery, advise
from tradewind.compression.codecs import PROBE, Codec, CodecSetting
from tradewind.compression.history import NO_HISTORY, CodecObservation, CompressionCase
from tradewind.compression.model import NetworkLine, Speeds, compute_piped_s
from tradewind.compression.printed import compute_line_bps, compute_piped_bps
from tradewind.units import BITS_PER_BYTE

MB = 10**6
MBPS = BITS_PER_BYTE * MB
SLOW, FAST = 3, 4
"""Columns of what was reached on the slower and on the faster network."""

LEAST_BPS, MOST_BPS = 1e3, 1e12
"""Between which the speed of a codec is looked for; the higher one of a stage that the table says nothing of."""

HALVINGS = 100
RATE_TOLERANCE = 0.15
Row = list[Any]


def compare_advice(claim: Claim, claims: Claims) -> Iterator[Comparison]:
    """Compare our advice with the codec that the table found fastest on the slower network, and its speed there."""
    rows, size = claim.values["rows"], round(MB * claim.values["US_MB"])
    speeds = {_parse_setting(row): _solve_speeds(row, FAST, claim, claims) for row in rows if row[0] != "raw"}
    best = max(rows, key=itemgetter(SLOW))
    advice = _build_advice(size, _build_line(claim, claims, SLOW), speeds)
    network = f"{claims['003-tsc'].values['net_MBps'][0]:g} MB/s"
    yield compare_property(
        f"{network}: our advice is what was fastest ({best[0]} -{best[1]})", advice.best.setting == _parse_setting(best)
    )
    rate = advice.best.throughput_bps.mean / MBPS
    yield compare_computed(f"{network}: rate of what we advise, MB/s", best[SLOW], rate, relative=RATE_TOLERANCE)


def _parse_setting(row: Row) -> CodecSetting | None:
    return None if row[0] == "raw" else CodecSetting(Codec(row[0]), row[1])


def _build_line(claim: Claim, claims: Claims, column: int) -> NetworkLine:
    """Return the path as the raw transfer of the file had it, with the paper's start-up time."""
    setup_s, size = claims["003-tsc"].values["T_SC_s"], MB * claim.values["US_MB"]
    raw = next(row for row in claim.values["rows"] if row[0] == "raw")
    return NetworkLine(compute_line_bps(size, MBPS * raw[column], setup_s), setup_s)


def _solve_speeds(row: Row, column: int, claim: Claim, claims: Claims) -> Speeds:
    """Solve for the codec's speed with which our model takes as long as was measured."""
    size, ratio, line = round(MB * claim.values["US_MB"]), row[2], _build_line(claim, claims, column)
    took_s, low, high = claim.values["US_MB"] / row[column], LEAST_BPS, MOST_BPS
    for _ in range(HALVINGS):
        middle = sqrt(low * high)
        slower = compute_piped_s(size, line, Speeds(ratio, middle, MOST_BPS)) > took_s
        low, high = (middle, high) if slower else (low, middle)
    return Speeds(ratio, high, MOST_BPS)


def _build_advice(size: int, line: NetworkLine, speeds: Mapping[CodecSetting | None, Speeds]) -> CodecAdvice:
    case = CompressionCase(file_bytes=size, kind="table", cpu_class="arm", probe=speeds[PROBE])
    packed_speeds = {setting: each for setting, each in speeds.items() if setting is not None}
    samples = [CodecObservation(case=case, setting=setting, speeds=each) for setting, each in packed_speeds.items()]
    return advise(CompressionQuery(case=case, line=line, settings=list(packed_speeds), samples=samples), NO_HISTORY)


def check_error_sign(_claim: Claim, claims: Claims) -> Finding:
    """Check the sign of the error where equation 20 promises more than xz packs (table II)."""
    claimed_pct = claims["003-err-up"].values["net5"]["xz"]
    return make_finding(
        compare_property(
            "xz on the faster network: equation 20 promises more than was measured",
            _compute_xz_error_pct(claims) < 0,
            claimed=claimed_pct < 0,
        ),
    )


def _compute_xz_error_pct(claims: Claims) -> float:
    table = claims["003-table2"]
    row = next(row for row in table.values["rows"] if row[:2] == ["xz", 0])
    line, speeds = _build_line(table, claims, FAST), _solve_speeds(row, FAST, table, claims)
    size = MB * table.values["US_MB"]
    promised = compute_piped_bps(size, line.rate_bps, line.setup_s, speeds.ratio, speeds.compress_bps)
    return compute_error_pct({"printed_bps": promised, "measured_bps": MBPS * row[FAST]})


CHECKS = {"003-err-def": check_error_sign}
