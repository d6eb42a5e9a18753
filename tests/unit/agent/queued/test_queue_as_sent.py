import pytest

from tradewind.mobile.queue import QueuedJob, ScheduledJob
from tradewind_agent.queued.sending import _build_measured_job

MBIT = 1e6


def placed(starts_s, ends_s, rate_bps=8 * MBIT):
    return ScheduledJob(QueuedJob(name=f"{starts_s}", total_bytes=0, throughput_bps=rate_bps), starts_s, ends_s)


@pytest.mark.parametrize(
    ("others", "moved_bytes", "rate_bps"),
    [
        pytest.param([], 12_500_000, 100 * MBIT, id="alone, faster than was expected"),
        pytest.param([], 125_000, MBIT, id="alone, slower"),
        pytest.param([(0.5, 2.0)], 12_500_000, 100 * MBIT, id="beside another, faster all the same"),
        pytest.param([(0.5, 2.0)], 125_000, 8 * MBIT, id="slowed by another"),
        pytest.param([(1.0, 2.0)], 125_000, MBIT, id="before another"),
    ],
)
def test_a_job_alone_would_have_been_no_slower_than_it_was(others, moved_bytes, rate_bps):
    own = placed(0.0, 1.0)
    was = _build_measured_job(own, moved_bytes, [own, *(placed(*each) for each in others)])
    assert was.job.total_bytes == moved_bytes
    assert was.job.throughput_bps == pytest.approx(rate_bps)
