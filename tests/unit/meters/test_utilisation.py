"""Utilisation between two readings of made-up counters."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.meters.made_up import START, later
from tradewind_agent.meters import compute_usage
from tradewind_agent.meters.utilisation import HostReader


def test_utilisation_is_the_share_of_what_there_is():
    earlier = replace(START, disk_busy_s={"a": 5.0, "b": 0.0}, sent_bytes={"e": 0}, received_bytes={"e": 0})
    after = later(
        10,
        busy_cpu_s=1020.0,
        memory=0.75,
        disk_busy_s={"a": 7.0, "b": 4.0, "new": 100.0},
        sent_bytes={"e": 1e8, "lo": 1e9},
        received_bytes={"e": 5e8},
        nic_speed_bps={"e": 1e9},
    )
    usage = compute_usage(earlier, after)
    assert (usage.cpu, usage.memory, usage.disk, usage.nic) == pytest.approx((0.5, 0.5, 0.4, 0.4))


def test_unreported_usage_is_unknown_and_not_zero():
    usage = compute_usage(START, later(1))
    assert (usage.cpu, usage.disk, usage.nic) == (0.0, None, None)
    assert compute_usage(START, START).cpu is None


def test_rounding_of_clocks_does_not_carry_a_share_beyond_one():
    assert compute_usage(START, later(1, busy_cpu_s=1004.2)).cpu == 1.0
    assert compute_usage(START, later(1, busy_cpu_s=999.99)).cpu == 0.0


def test_process_that_ends_while_its_threads_are_read_has_no_children(monkeypatch: pytest.MonkeyPatch):
    def end(path: Path, pattern: str) -> Iterator[Path]:
        raise FileNotFoundError(path / pattern)

    monkeypatch.setattr(Path, "glob", end)
    assert HostReader(time.monotonic, pid=os.getpid()).read().tree_cpu_s > 0
