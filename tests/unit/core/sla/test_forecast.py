"""How running transfers stand against their SLA."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.sla.forecast import Standing, TransferProgress, judge_progress
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.units import BITS_PER_BYTE, MBIT

MB = 10**6
DEADLINE = Sla(kind=SlaKind.DEADLINE, target=100)


def at(elapsed_s: float, *, rate_bps: float | None = 8 * MBIT, moved: int = 50 * MB) -> TransferProgress:
    return TransferProgress(100 * MB, moved, elapsed_s, rate_bps)


@pytest.mark.parametrize(
    ("progress", "standing"),
    [
        (at(50), Standing.ON_TRACK),
        (at(51), Standing.AT_RISK),
        (at(101), Standing.LATE),
        (at(10, rate_bps=0), Standing.AT_RISK),
        (at(0, rate_bps=None, moved=0), None),
        (at(99, moved=100 * MB), Standing.ON_TRACK),
    ],
)
def test_a_deadline_counts_the_time_that_is_left_at_the_present_rate(
    progress: TransferProgress, standing: Standing | None
) -> None:
    assert judge_progress(DEADLINE, progress) is standing


@given(st.integers(1, 10**12), st.floats(0, 1), st.floats(0.1, 1e5), st.floats(1e3, 1e11), st.floats(1e3, 1e11))
def test_a_rate_is_judged_by_the_mean_of_the_entire_transfer(
    total: int, share: float, elapsed_s: float, rate_bps: float, target_bps: float
) -> None:
    progress = TransferProgress(total, int(share * total), elapsed_s, rate_bps)
    sla = Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=target_bps)
    assert progress.left_s is not None
    mean_bps = BITS_PER_BYTE * total / (elapsed_s + progress.left_s)
    expected = Standing.ON_TRACK if mean_bps >= target_bps else Standing.AT_RISK
    assert judge_progress(sla, progress) is expected


def test_a_share_is_judged_by_its_rate() -> None:
    sla = Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.5)
    assert judge_progress(sla, at(50), share_bps=7 * MBIT) is Standing.ON_TRACK
    assert judge_progress(sla, at(50), share_bps=9 * MBIT) is Standing.AT_RISK
    assert judge_progress(sla, at(50)) is None


def test_energy_is_judged_by_what_was_used_where_it_was_metered() -> None:
    for kind in (SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST):
        sla = Sla(kind=kind, target=500)
        assert judge_progress(sla, at(50)) is None
        assert judge_progress(sla, at(50)._replace(energy_lead_j=1.0)) is Standing.ON_TRACK
        assert judge_progress(sla, at(50)._replace(energy_lead_j=-1.0)) is Standing.AT_RISK


def test_without_a_target_nothing_is_at_risk() -> None:
    assert judge_progress(Sla(kind=SlaKind.MAX_THROUGHPUT), at(50)) is None
