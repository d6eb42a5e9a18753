import pytest

from tradewind.errors import InvalidValue
from tradewind.mobile.queue import MAX_TRANSFER_S, QueuedJob


def test_a_job_may_last_thirty_days_and_no_longer():
    longest = QueuedJob(name="a", total_bytes=round(MAX_TRANSFER_S), throughput_bps=8.0)
    assert longest.require_plannable() is longest
    endless = QueuedJob(name="a", total_bytes=10_000_000, throughput_bps=1.0)
    with pytest.raises(InvalidValue, match="would take 926 days at this rate, but 30 days is the maximum"):
        endless.require_plannable()
