"""What the closing line of a copy says about this host's disk and processors."""

import pytest

from tradewind.transfer import ResourceUsage
from tradewind_agent.copy.reporting.bottleneck import find_bottleneck, has_reached_rate
from tradewind_agent.meters import CpuWork
from tradewind_agent.resources.applied import Advice, Enforced, Verdict

KIB = 1024
NO_HELP = "more streams will not help"


@pytest.mark.parametrize(
    ("usage", "block_bytes", "expected"),
    [
        (ResourceUsage(cpu=0.3, disk=0.97), 64 * KIB, "the disk was busy 97% of the time, try --io-block 256KiB"),
        (ResourceUsage(cpu=0.3, disk=0.97), 1024 * KIB, "the disk was busy 97% of the time, try --io-block 4MiB"),
        (ResourceUsage(disk=0.97), 4096 * KIB, "the disk was busy 97% of the time, more streams will not help"),
        (ResourceUsage(disk=0.97), None, "the disk was busy 97% of the time, more streams will not help"),
        (ResourceUsage(cpu=0.95, disk=0.97), None, "the disk was busy 97% of the time, more streams will not help"),
    ],
)
def test_busiest_part_of_a_host_is_named_with_a_way_on(
    usage: ResourceUsage, block_bytes: int | None, expected: str
) -> None:
    bottleneck = find_bottleneck(usage, block_bytes)
    assert bottleneck is not None
    assert bottleneck.format() == expected


@pytest.mark.parametrize("usage", [None, ResourceUsage(), ResourceUsage(cpu=0.6, disk=0.5)])
def test_idle_host_is_no_bottleneck(usage: ResourceUsage | None) -> None:
    assert find_bottleneck(usage, 64 * KIB) is None


def work(cpu_s: float) -> CpuWork:
    return CpuWork(duration_s=10.0, cpu_s=cpu_s, logical_cpus=2)


def test_processors_that_the_copy_itself_fills_are_named() -> None:
    bottleneck = find_bottleneck(ResourceUsage(cpu=1.0, disk=0.2), None, work(19.0))
    assert bottleneck is not None
    assert bottleneck.format() == "the copy took 95% of the processors' time, more streams will not help"
    assert find_bottleneck(None, None, work(9.5), cores=1) == bottleneck


def test_processors_that_other_programs_fill_are_not_blamed() -> None:
    assert find_bottleneck(ResourceUsage(cpu=1.0, disk=0.2), None, work(3.0)) is None


@pytest.mark.parametrize(
    ("reached_bps", "predicted_bps", "limits"),
    [
        (62.5e6, 60e6, ()),
        (58e6, None, (Enforced("nic_bps", 60e6, "the engine's own rate"),)),
        (58e6, 200e6, (Enforced("disk_bps", 60e6, "the engine's own rate"),)),
    ],
)
def test_a_copy_at_its_limit_or_prediction_was_not_held_up(
    reached_bps: float, predicted_bps: float | None, limits: tuple[Verdict, ...]
) -> None:
    assert has_reached_rate(reached_bps, predicted_bps, limits)
    assert not has_reached_rate(reached_bps / 2, predicted_bps, limits)


def test_a_limit_that_is_only_advised_holds_nothing_up() -> None:
    assert not has_reached_rate(58e6, None, (Advice("nic_bps", 60e6, "the kernel limits no processes"),))
