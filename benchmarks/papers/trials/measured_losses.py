"""FLD_TCP's phases (004), by the kernel's program: windows round by round, and what a loss leaves of them."""

from collections.abc import Iterator, Mapping

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import Comparison, Source, compare_measured, compare_property
from benchmarks.papers.form import Form, Rows
from benchmarks.papers.trials.loss_trials import Loss
from benchmarks.transport.cases import FLD, RENO
from benchmarks.wan.runs import Row

SHORT_BYTES, LONG_BYTES = 1_000, 65_000
"""Size of a segment: two rounds are 40 kB, or more than 2 MB."""

HALF = 0.5
"""The share of a window that Reno leaves."""

SEGMENT = 1
"""The difference that windows may have at the end of a recovery."""


def _judge_phases(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    values, short, long = claim.values, rows[Loss(FLD, SHORT_BYTES)], rows[Loss(FLD, LONG_BYTES)]
    for number, window in enumerate(short["windows"], 1):
        name = f"window after {number} rounds of a short flow, segments"
        yield compare_measured(name, values["iw"] * values["ss_factor"] ** number, window)
    yield compare_property(
        f"the loss of the long flow is beyond the threshold ({long['acknowledged_bytes']} bytes)",
        short["acknowledged_bytes"] < values["threshold_B"] < long["acknowledged_bytes"],
        source=Source.TESTBED,
    )
    yield compare_measured(
        "what a loss of one segment takes off a short flow, segments", 1, short["before"] - short["after"]
    )
    for name, loss in (("FLD_TCP", Loss(FLD, LONG_BYTES)), ("Reno", Loss(RENO, LONG_BYTES))):
        row = rows[loss]
        yield _compare_half(f"share of a long flow's window that it leaves by {name}", row)
    yield _compare_half("and of a short one's by Reno", rows[Loss(RENO, SHORT_BYTES)])
    yield compare_measured(
        "most segments of a flow that are sent again, one being lost", 1, max(map(_count_sent_again, rows.values()))
    )


def _compare_half(what: str, row: Row) -> Comparison:
    return compare_measured(what, HALF, row["after"] / row["before"], absolute=SEGMENT / row["before"])


def _count_sent_again(row: Row) -> int:
    return int(row["sent_again"])


FORMS: Mapping[str, Form] = {
    "004-fld": Form(
        [Loss(control, size) for control in (FLD, RENO) for size in (SHORT_BYTES, LONG_BYTES)], _judge_phases
    )
}
