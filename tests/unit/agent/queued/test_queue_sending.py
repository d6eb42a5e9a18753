"""When the jobs of a planned queue really begin."""

import time

import pytest

from tradewind.mobile.batching import BatchTerms, evaluate_bursts
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.queue import Burst, BurstMode, QueuedJob, ScheduledJob
from tradewind_agent.cli.commands.copying.queue import read_boot_clock_s
from tradewind_agent.queued.advice import Advice
from tradewind_agent.queued.sending import WAIT_SLICE_S, send_queue

LTE = load_shipped_catalogue().find_radio("lte")
HOUR_S = 3600.0


class SuspendedHost:
    """Is suspended for an hour after it has slept for two minutes; sleeps last as long as it is awake."""

    awake_s = 0.0

    def clock_s(self):
        return self.awake_s + (HOUR_S if self.awake_s > 120 else 0.0)

    def pause(self, seconds):
        self.awake_s += seconds


def job(name, *, ready_s=0.0):
    return QueuedJob(name=name, total_bytes=1_000_000, throughput_bps=8e6, ready_s=ready_s)


def sent(host, *bursts):
    def copy(name):
        raise OSError(f"{name} is not to be had")

    advice = Advice(evaluate_bursts(bursts, BatchTerms(radio=LTE)), LTE, "a test")
    report = send_queue(advice, copy, clock_s=host.clock_s, pause=host.pause)
    return {each.job.name: each.starts_s for each in report.sent}


def test_a_burst_is_sent_soon_after_a_suspended_host_wakes():
    late = Burst(BurstMode.SINGLE, (ScheduledJob(job("late"), HOUR_S, HOUR_S + 1),))
    assert HOUR_S <= sent(SuspendedHost(), late)["late"] <= HOUR_S + 120 + WAIT_SLICE_S


def test_so_is_a_job_that_becomes_ready_within_a_burst():
    second = ScheduledJob(job("second", ready_s=HOUR_S), HOUR_S, HOUR_S + 1)
    burst = Burst(BurstMode.BACK_TO_BACK, (ScheduledJob(job("first"), 0.0, 1.0), second))
    began_s = sent(SuspendedHost(), burst)
    assert began_s["first"] == 0.0
    assert HOUR_S <= began_s["second"] <= HOUR_S + 120 + WAIT_SLICE_S


def test_nothing_is_sent_before_its_time():
    host = SuspendedHost()
    soon = Burst(BurstMode.SINGLE, (ScheduledJob(job("soon", ready_s=70.0), 70.0, 71.0),))
    assert sent(host, soon)["soon"] == pytest.approx(70.0)


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux has a clock that counts suspension")
def test_the_clock_of_a_queue_counts_the_time_of_a_suspended_host(monkeypatch):
    monkeypatch.setattr(time, "clock_gettime", {time.CLOCK_BOOTTIME: 7.0}.__getitem__)
    assert read_boot_clock_s() == 7.0
