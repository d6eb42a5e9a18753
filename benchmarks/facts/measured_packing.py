"""Results of the compressed-transfer paper (003) with our codecs, files and paths of its rates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from benchmarks.facts.catalogue import Fact, Facts
from benchmarks.facts.finding import By, Comparison, measured, property_of
from benchmarks.facts.form import RATIO, Form, Rows
from benchmarks.facts.packing_trials import LARGE_BYTES, Lines, Packed, SlowCodec
from benchmarks.wan.runs import Row

NETWORKS = (0.5, 2.0, 3.5, 5.0)
"""MB/s, as the paper's."""

ERROR_POINTS = 10.0
"""An error in per cent counts as theirs within so much: other codecs' builds, files and hosts."""

RATIO_TOLD = 0.1
START_UPS = Lines(NETWORKS)
UP, DOWN = ({rate: Packed(upload, rate) for rate in (0.5, 5.0)} for upload in (True, False))


def error_pct(row: Row, model: str = "printed") -> float:
    """(measured − estimated)/measured of the rate, as the paper defines its errors."""
    return 100 * float(1 - row[f"{model}_bps"] / row["measured_bps"])


def _files(row: Row, *, large: bool, codecs: Sequence[str] | None = None) -> list[Row]:
    return [
        each
        for each in row["files"]
        if each["file"].endswith(f"-{LARGE_BYTES}") == large
        if codecs is None or each["setting"].partition(":")[0] in codecs
    ]


def _middle_pct(rows: Sequence[Row], model: str = "printed") -> float:
    return median(abs(error_pct(each, model)) for each in rows)


def _start_up(fact: Fact, facts: Facts, rows: Rows) -> Iterator[Comparison]:
    row = rows[START_UPS]
    up, down = ([row[f"{direction} {rate:g}"] for rate in NETWORKS] for direction in ("up", "down"))
    yield measured(
        "start-up of downloads over that of uploads: the same", 1.0, median(down) / median(up), relative=RATIO
    )
    yield measured("longest start-up over the shortest: one for all networks", 1.0, max(up) / min(up), relative=RATIO)
    of_two = median(row[f"up {rate:g} of two"] for rate in NETWORKS)
    claim = fact.values["T_SC_s"] / facts["003-eq6"].values["paper_TSC"]
    yield measured("start-up by a fit over that by two files", claim, median(up) / of_two, relative=RATIO)


def _errors(
    trials: Mapping[float, Packed], claims: Mapping[float, tuple[float, float]]
) -> Callable[..., Iterator[Comparison]]:
    """``claims`` : of each network the error of large files at most, and of small ones at most, %."""

    def judge(_fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
        for rate, (large_pct, small_pct) in claims.items():
            row = rows[trials[rate]]
            for what, claim, found in (
                ("large files", large_pct, _files(row, large=True, codecs=("gzip", "lzop"))),
                ("small files", small_pct, _files(row, large=False)),
            ):
                name = f"{rate:g} MB/s, {what}: error of equations 20 and 22, median, %"
                yield measured(name, claim, _middle_pct(found), absolute=ERROR_POINTS)
        every = [each for rate in claims for each in _files(rows[trials[rate]], large=True)]
        ours, printed = _middle_pct(every, "ours"), _middle_pct(every)
        yield property_of(
            f"large files: our model errs no more ({ours:.1f} %) than the printed one ({printed:.1f} %)",
            ours <= printed,
            by=By.TESTBED,
        )

    return judge


def _uploads(fact: Fact, facts: Facts, rows: Rows) -> Iterator[Comparison]:
    slow, fast = fact.values["net0.5"], fact.values["net5"]
    claims = {0.5: (max(slow["large"]), slow["small_start"]), 5.0: (max(fast["large"]), fast["small_start"])}
    yield from _errors(UP, claims)(fact, facts, rows)


def _downloads(fact: Fact, facts: Facts, rows: Rows) -> Iterator[Comparison]:
    slow, fast = fact.values["net0.5"], fact.values["net5"]
    claims = {0.5: (max(slow["large"]), slow["small_start"]), 5.0: (max(fast["large"]), max(fast["small"]))}
    yield from _errors(DOWN, claims)(fact, facts, rows)


def _worth_it(_fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    row = rows[SlowCodec()]
    yield property_of(
        "a large file takes no less by a codec slower than the path",
        row["slower_s"] >= row["slower_raw_s"],
        by=By.TESTBED,
    )
    reached = row["faster_raw_s"] / row["faster_s"] / row["faster_ratio"]
    yield measured("a large file by a fast codec, over ratio times the path's rate", 1.0, reached, absolute=0.1)


def _history(_fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    told = [each for trial in UP.values() for each in rows[trial]["files"] if each["expected_ratio"] is not None]
    off = median(abs(each["expected_ratio"] / each["ratio"] - 1) for each in told)
    yield property_of(
        f"history of other files tells the ratio of new ones within a tenth (median {off:.1%})",
        off <= RATIO_TOLD,
        by=By.TESTBED,
    )


FORMS: Mapping[str, Form] = {
    "003-tsc": Form([START_UPS], _start_up),
    "003-err-up": Form(list(UP.values()), _uploads),
    "003-err-dn": Form(list(DOWN.values()), _downloads),
    "003-asym": Form([SlowCodec()], _worth_it),
    "003-history": Form(list(UP.values()), _history),
}
