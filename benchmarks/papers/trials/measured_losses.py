"""FLD_TCP's phases (004), by the kernel's program: windows round by round, and what a loss leaves of them."""

from collections.abc import Iterator, Mapping

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.finding import By, Comparison, measured, property_of
from benchmarks.papers.form import Form, Rows
from benchmarks.papers.trials.loss_trials import Loss
from benchmarks.transport.cases import FLD, RENO
from benchmarks.wan.runs import Row

SHORT_BYTES, LONG_BYTES = 1_000, 65_000
"""Of a segment: two rounds are 40 kB, or more than 2 MB."""

HALF = 0.5
"""What Reno leaves of a window."""

SEGMENT = 1
"""By which windows may differ at the end of a recovery."""


def _phases(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    values, short, long = fact.values, rows[Loss(FLD, SHORT_BYTES)], rows[Loss(FLD, LONG_BYTES)]
    for number, window in enumerate(short["windows"], 1):
        name = f"window after {number} rounds of a short flow, segments"
        yield measured(name, values["iw"] * values["ss_factor"] ** number, window)
    yield property_of(
        f"the loss of the long flow is beyond the threshold ({long['acknowledged_bytes']} bytes)",
        short["acknowledged_bytes"] < values["threshold_B"] < long["acknowledged_bytes"],
        by=By.TESTBED,
    )
    yield measured("what a loss of one segment takes off a short flow, segments", 1, short["before"] - short["after"])
    for name, loss in (("FLD_TCP", Loss(FLD, LONG_BYTES)), ("Reno beside it", Loss(RENO, LONG_BYTES))):
        row = rows[loss]
        yield _halved(f"share of a long flow's window that it leaves by {name}", row)
    yield _halved("and of a short one's by Reno", rows[Loss(RENO, SHORT_BYTES)])
    yield measured(
        "most segments of a flow that are sent again, one being lost", 1, max(map(_sent_again, rows.values()))
    )


def _halved(what: str, row: Row) -> Comparison:
    return measured(what, HALF, row["after"] / row["before"], absolute=SEGMENT / row["before"])


def _sent_again(row: Row) -> int:
    return int(row["sent_again"])


FORMS: Mapping[str, Form] = {
    "004-fld": Form([Loss(control, size) for control in (FLD, RENO) for size in (SHORT_BYTES, LONG_BYTES)], _phases)
}
