"""What the closing line of a copy says about this host's disk and processors."""

import pytest

from tradewind.transfer import ResourceUsage
from tradewind_agent.copy.reporting.bottleneck import find_bottleneck

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
        (
            ResourceUsage(cpu=0.95, disk=0.2),
            None,
            "the processors were busy 95% of the time, more streams will not help",
        ),
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
