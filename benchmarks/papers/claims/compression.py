"""Claims of the compressed-transfer paper (003) against our models: equations 1 to 22, probe, codecs, rule, examples.

Each equation is written out here as it is printed, in MB and seconds, and evaluated over the sizes, ratios and networks
of the paper's own tables; ours is `tradewind.compression.printed`, in bits.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.claims.compression_tables import PHONES
from benchmarks.papers.finding import (
    Comparison,
    Finding,
    Source,
    compare_cases,
    compare_computed,
    compare_property,
    make_finding,
    make_finding_elsewhere,
)
from benchmarks.papers.printed import Range, find_printed_range
from tradewind.compression.codecs import CODEC_LEVELS, Codec
from tradewind.compression.model import Mode, NetworkLine, Speeds, compute_duration_s, is_worthwhile_for_long_files
from tradewind.compression.printed import (
    compute_line_bps,
    compute_lower_bound_bps,
    compute_overlap_factor,
    compute_overlapped_s,
    compute_piped_bps,
    compute_sequential_s,
    compute_uncompressed_bps,
    compute_uncompressed_s,
    compute_upper_bound_bps,
)
from tradewind.compression.probe import TimedTransfer, solve_line_of_two
from tradewind.units import BITS_PER_BYTE

MB = 10**6
MBPS = BITS_PER_BYTE * MB
"""bit/s of 1 MB/s."""
CODERS_MBPS = (0.3, 1.0, 3.0, 5.0, 12.0, 40.0)
"""Speeds of packing between the slowest and the fastest codec of its tables."""
ROUNDING = 1e-12
LONG_FILE_MB = 1e6
EXAMPLE_TOLERANCE = 0.1
"""As far as the paper says its estimates of large files to be off on its faster network."""


class Point(NamedTuple):
    """``us`` MB, ``th`` and ``coder`` MB/s, ``tsc`` s, as in the equations."""

    us: float
    th: float
    tsc: float
    cr: float
    coder: float


Form = Callable[[Point], float]


def _list_points(claims: Claims) -> Iterator[Point]:
    start_up = claims["003-tsc"].values
    for table in ("003-table2", "003-table3"):
        values = claims[table].values
        ratios = sorted({row[2] for row in values["rows"]})
        for th, cr, coder in product(start_up["net_MBps"], ratios, CODERS_MBPS):
            yield Point(values["US_MB"], th, start_up["T_SC_s"], cr, coder)


def _compute_time_max(x: Point) -> float:
    return x.us / x.coder + x.tsc + x.us / (x.cr * x.th)


def _compute_time_min(x: Point) -> float:
    return x.tsc + x.us / (x.cr * x.th)


def _compute_k(x: Point) -> float:
    return x.th / x.coder if x.coder > x.th else 1.0


def _compute_from_reached(x: Point) -> float:
    reached = x.us / (x.tsc + x.us / x.th)
    return reached / (1 - reached * x.tsc / x.us)


PRINTED: dict[tuple[int, ...], Form] = {
    (1, 2): lambda x: x.tsc + x.us / x.th,
    (3, 4): lambda x: x.th / (1 + x.th * x.tsc / x.us),
    (5,): _compute_from_reached,
    (7, 13): _compute_time_max,
    (8, 14): _compute_time_min,
    (9, 15): lambda x: x.us / _compute_time_max(x),
    (10, 16): lambda x: x.us / _compute_time_min(x),
    (11, 17): lambda x: x.cr * x.th / (1 + x.th * x.cr * (1 / x.coder + x.tsc / x.us)),
    (12, 18): lambda x: x.cr * x.th / (1 + x.th * x.cr * x.tsc / x.us),
    (19, 21): _compute_k,
    (20, 22): lambda x: x.cr * x.th / (1 + x.cr * x.th * (x.tsc / x.us + _compute_k(x) / x.coder)),
}


def _compute_least(x: Point) -> float:
    return compute_lower_bound_bps(MB * x.us, MBPS * x.th, x.tsc, x.cr, MBPS * x.coder) / MBPS


def _compute_most(x: Point) -> float:
    return compute_upper_bound_bps(MB * x.us, MBPS * x.th, x.tsc, x.cr) / MBPS


def _compute_piped(x: Point) -> float:
    return compute_piped_bps(MB * x.us, MBPS * x.th, x.tsc, x.cr, MBPS * x.coder) / MBPS


OURS: dict[tuple[int, ...], Form] = {
    (1, 2): lambda x: compute_uncompressed_s(MB * x.us, MBPS * x.th, x.tsc),
    (3, 4): lambda x: compute_uncompressed_bps(MB * x.us, MBPS * x.th, x.tsc) / MBPS,
    (5,): lambda x: compute_line_bps(MB * x.us, compute_uncompressed_bps(MB * x.us, MBPS * x.th, x.tsc), x.tsc) / MBPS,
    (7, 13): lambda x: compute_sequential_s(MB * x.us, MBPS * x.th, x.tsc, x.cr, MBPS * x.coder),
    (8, 14): lambda x: compute_overlapped_s(MB * x.us, MBPS * x.th, x.tsc, x.cr),
    (9, 15): _compute_least,
    (10, 16): _compute_most,
    (11, 17): _compute_least,
    (12, 18): _compute_most,
    (19, 21): lambda x: compute_overlap_factor(MBPS * x.th, MBPS * x.coder),
    (20, 22): _compute_piped,
}


def _check_equation(claim: Claim, claims: Claims) -> Finding:
    number = int(claim.id.partition("-eq")[2])
    numbers = next(each for each in PRINTED if number in each)
    points = list(_list_points(claims))
    same = [abs(PRINTED[numbers](x) - OURS[numbers](x)) <= 10 * ROUNDING * abs(PRINTED[numbers](x)) for x in points]
    comparisons = [compare_cases("points of its tables: ours is the printed form", len(points), sum(same))]
    return make_finding(*comparisons, *(_compare_bounds(points) if number in (20, 22) else ()))


def _compare_bounds(points: list[Point]) -> Iterator[Comparison]:
    """Compare the estimate with the bounds of equations 9 to 18, and with the codec's speed, which nothing exceeds."""
    slack = 1 + ROUNDING
    within = sum(
        _compute_least(x) <= _compute_piped(x) * slack and _compute_piped(x) <= _compute_most(x) * slack for x in points
    )
    yield compare_cases("points of its tables: it is within its bounds", len(points), within)
    beyond = sum(_compute_piped(x) > x.coder * slack for x in points)
    yield compare_computed("points where it is faster than the codec", 0, beyond, source=Source.ARITHMETIC)


def check_probe(claim: Claim, _claims: Claims) -> Finding:
    values = claim.values
    timed = [TimedTransfer(round(us * MB), us / th) for us, th in zip(values["US"], values["Th"], strict=True)]
    line = solve_line_of_two(*timed)
    return make_finding(
        compare_computed(
            "rate of the path by two files, MB/s", values["paper_ThUP"], line.rate_bps / MBPS, relative=0.002
        ),
        compare_computed("start-up by two files, s", values["paper_TSC"], line.setup_s, relative=0.002),
    )


def check_codecs(claim: Claim, _claims: Claims) -> Finding:
    comparisons = []
    for name, least, most, usual, *_ in claim.values["rows"]:
        ours = CODEC_LEVELS[Codec(name)]
        agree = [least == ours.min_level, most == ours.max_level, usual == ours.default_level]
        comparisons.append(compare_cases(f"{name}: lowest, highest and usual level as ours", len(agree), sum(agree)))
    return make_finding(*comparisons)


def check_worth_it(_claim: Claim, claims: Claims) -> Finding:
    """Compare its rule with its own equation, and our rule with the durations of our model, for an endless file."""
    points = [x._replace(us=LONG_FILE_MB) for x in _list_points(claims)]
    slower = [x for x in points if x.coder < x.th]
    gains_nothing = sum(_compute_piped(x) <= x.th for x in slower)
    right = sum(is_worthwhile_for_long_files(MBPS * x.th, _build_speeds(x)) == _is_quicker_packed(x) for x in points)
    return make_finding(
        compare_cases("points with a codec slower than the path: no gain by equation 20", len(slower), gains_nothing),
        compare_cases("points: our rule agrees with the durations of our model", len(points), right),
    )


def _build_speeds(x: Point) -> Speeds:
    return Speeds(x.cr, MBPS * x.coder, 1e6 * MBPS)


def _is_quicker_packed(x: Point) -> bool:
    size, line = round(x.us * MB), NetworkLine(MBPS * x.th, x.tsc)
    return compute_duration_s(Mode.PIPED, size, line, _build_speeds(x)) < compute_duration_s(Mode.RAW, size, line, None)


def check_examples(claim: Claim, claims: Claims) -> Finding:
    """Check that measurements are within their bounds, and that equation 20 or 22 is more accurate than either bound.

    That is, it is nearer to what was measured than the nearer bound, and within `EXAMPLE_TOLERANCE`, for some numbers
    that are printed as these are. All of them are the paper's own: where they agree, nothing is reproduced by it.
    """
    network = claims["003-fig5"].values["net"]
    equation = 22 if "download" in claim.statement else 20
    comparisons: list[Comparison] = []
    for name, each in claim.values.items():
        if not isinstance(each, list):
            continue
        low, high, measured = map(find_printed_range, each)
        comparisons.append(
            compare_property(
                f"{name}: within its bounds",
                low.low <= measured.high and measured.low <= high.high,
                source=Source.ARITHMETIC,
            )
        )
        estimate = _estimate(low, high, network)
        near = min(EXAMPLE_TOLERANCE * measured.value, measured.value - low.value, high.value - measured.value)
        off = max(estimate.low - measured.high, measured.low - estimate.high, 0.0)
        comparisons.append(
            Comparison(
                what=f"{name}: MB/s by equation {equation}",
                paper=measured.value,
                ours=estimate.value,
                allowed=f"{near:.2g}, as printed",
                agrees=off <= near,
                source=Source.CODE,
            )
        )
    return make_finding_elsewhere(PHONES, comparisons)


def _estimate(low: Range, high: Range, network_mbps: float) -> Range:
    """Estimate by the equation, MB/s, from the bounds: the codec's time added to the path's, and left out."""

    def of(least: float, most: float) -> float:
        coder = 1 / (1 / least - 1 / most)
        return compute_piped_bps(MB * 1e6, MBPS * network_mbps, 0.0, most / network_mbps, MBPS * coder) / MBPS

    ends = [of(least, most) for least in (low.low, low.high) for most in (high.low, high.high)]
    return Range(of(low.value, high.value), min(ends), max(ends))


def check_measured_errors(_claim: Claim, _claims: Claims) -> Finding:
    return make_finding_elsewhere(PHONES)


def check_history(_claim: Claim, _claims: Claims) -> Finding:
    """Check nothing: a history of the same numbers would only return them, so new files have to be packed for it."""
    return Finding()


CHECKS = {
    **{f"003-eq{number}": _check_equation for numbers in PRINTED for number in numbers},
    "003-eq6": check_probe,
    "003-table1": check_codecs,
    "003-asym": check_worth_it,
    "003-fig5": check_examples,
    "003-fig6": check_examples,
    "003-err-up": check_measured_errors,
    "003-err-dn": check_measured_errors,
    "003-history": check_history,
}
