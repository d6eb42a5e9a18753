"""Accounts of transfers at a server: opened, shared, bounded, forgotten; counters and clock are the test's."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind_agent.meters import (
    BatteryMeter,
    CpuModelMeter,
    HostCounters,
    MeterChoice,
    MeterUnavailable,
    build_calibrated_profile,
)
from tradewind_agent.serve.transfer_meters import ACCOUNT_LIFETIME_S, LIVENESS_S, MAX_TRANSFERS, TransferMeters
from tradewind_agent.session.metering import HostMeter

A, B = UUID(int=1), UUID(int=2)
WATTS = 15.0
"""What the model makes of the readings below: 10 W idle, 40 W more for an eighth of the processors."""


class Readings:
    """Each reading is a second after the last one, in which half a second of CPU time was used."""

    def __init__(self) -> None:
        self.count = 0

    def read(self) -> HostCounters:
        self.count += 1
        return HostCounters(
            at_s=float(self.count), logical_cpus=4, busy_cpu_s=0.0, tree_cpu_s=0.5 * self.count, memory=0.1
        )


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class FailingMeter(CpuModelMeter):
    """A meter that can no longer be read."""

    def read_energy_j(self, counters: HostCounters) -> float:
        raise MeterUnavailable("the counter is gone")


PROFILE = build_calibrated_profile(10.0, 50.0, source="made up")


def run(
    story: Callable[[TransferMeters, Clock], Awaitable[None]], meter: CpuModelMeter | BatteryMeter | None = None
) -> None:
    async def main() -> None:
        clock = Clock()
        host = HostMeter(MeterChoice(meter or CpuModelMeter(PROFILE), ()), Readings(), base_power_s=0.0)
        meters = TransferMeters(host, clock)
        await meters.start()
        try:
            await story(meters, clock)
        finally:
            await meters.close()

    asyncio.run(main())


def test_running_transfer_is_reported_and_still_counted():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        account = meters.start_request(str(A))
        account.moved_bytes += 1000
        first = await meters.report(A, is_over=False)
        second = await meters.report(A, is_over=False)
        assert 0 < first.duration_s < second.duration_s
        assert second.total_j - first.total_j == pytest.approx(WATTS * (second.duration_s - first.duration_s))
        meters.finish_request(account)
        last = await meters.report(A)
        assert last.duration_s >= second.duration_s
        assert last.total_j == pytest.approx(WATTS * last.duration_s)

    run(story)


def test_sole_transfer_gets_energy_of_host():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        account = meters.start_request(str(A))
        account.moved_bytes += 1000
        meters.finish_request(account)
        report = await meters.report(A)
        assert (report.transfer_id, report.moved_bytes, report.logical_cpus) == (A, 1000, 4)
        assert report.total_j == pytest.approx(WATTS * report.duration_s)
        assert report.dynamic_j == pytest.approx(5.0 * report.duration_s)
        assert report.cpu_s == pytest.approx(0.5 * report.duration_s)
        assert report.base_w == 10.0
        assert (report.method, report.quality) == (EnergyMethod.CPU_MODEL, EnergyQuality.CALIBRATED)

    run(story)


def test_two_transfers_share_idle_and_dynamic_power_by_their_bytes_and_call_that_assumed():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        for transfer_id, moved_bytes in ((A, 1000), (B, 3000)):
            account = meters.start_request(str(transfer_id))
            account.moved_bytes += moved_bytes
        small, large = await asyncio.gather(meters.report(A), meters.report(B))
        assert small.total_j + large.total_j == pytest.approx(WATTS * large.duration_s)
        assert large.total_j == pytest.approx(3 * small.total_j)
        assert (small.base_w, large.base_w) == pytest.approx((2.5, 7.5))
        assert small.quality is large.quality is EnergyQuality.ASSUMED

    run(story)


def test_earlier_traffic_is_not_charged_to_transfer():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        nameless = meters.start_request(None)
        nameless.moved_bytes += 10**9
        meters.finish_request(nameless)
        meters.start_request(str(A)).moved_bytes += 1000
        report = await meters.report(A)
        assert report.total_j == pytest.approx(WATTS * report.duration_s)
        assert report.quality is EnergyQuality.CALIBRATED

    run(story)


def test_a_transfer_that_was_reported_leaves_the_host_to_the_others():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        for transfer_id in (A, B):
            account = meters.start_request(str(transfer_id))
            account.moved_bytes += 1000
            meters.finish_request(account)
        first = await meters.report(A)
        again = await meters.report(A)
        assert again == first
        last = await meters.report(B)
        alone_s = last.duration_s - first.duration_s
        assert last.total_j == pytest.approx(first.total_j + WATTS * alone_s)

    run(story)


def test_a_base_power_that_nobody_knows_leaves_the_dynamic_part_unknown(tmp_path: Path):
    battery = tmp_path / "class" / "power_supply" / "BAT0"
    battery.mkdir(parents=True)
    for name, text in {"type": "Battery", "status": "Discharging", "power_now": "7000000"}.items():
        (battery / name).write_text(text)

    async def story(meters: TransferMeters, clock: Clock) -> None:
        meters.start_request(str(A))
        report = await meters.report(A)
        assert report.total_j == pytest.approx(7.0 * report.duration_s)
        assert report.dynamic_j is report.base_w is None
        assert report.quality is EnergyQuality.ASSUMED, "a second is too short for its gauge"

    run(story, BatteryMeter(tmp_path))


def test_a_transfer_that_never_came_by_is_unknown_and_a_name_that_is_no_id_opens_no_account():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        assert await meters.report(A) is None
        nameless = meters.start_request(None)
        spelled_otherwise = str(UUID(int=2**128 - 1)).upper()
        for name in ("", "1", "x" * 5000, spelled_otherwise, f"{{{A}}}", A.hex):
            assert meters.start_request(name) is nameless
        assert await meters.report(A) is None

    run(story)


def test_the_table_is_bounded_and_the_transfer_silent_for_longest_makes_room():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        names = [uuid4() for _ in range(MAX_TRANSFERS + 10)]
        busy = meters.start_request(str(A))
        for name in names:
            clock.now_s += 0.001
            meters.finish_request(meters.start_request(str(name)))
        assert [await meters.report(name) is None for name in names[:11]] == [True] * 11
        assert await meters.report(names[11]) is not None
        assert await meters.report(A) is not None
        assert meters.start_request(str(A)) is busy

    run(story)


def test_while_every_place_is_in_use_further_transfers_are_served_unmetered():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        for _ in range(MAX_TRANSFERS):
            meters.start_request(str(uuid4()))
        assert meters.start_request(str(A)) is meters.start_request(None)
        assert await meters.report(A) is None

    run(story)


def test_accounts_are_forgotten_after_a_while():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        meters.finish_request(meters.start_request(str(A)))
        assert await meters.report(A) is not None
        clock.now_s += ACCOUNT_LIFETIME_S + 1
        meters.start_request(str(B))
        assert await meters.report(A) is None

    run(story)


def test_a_transfer_that_pauses_is_not_charged_for_its_pause():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        meters.finish_request(meters.start_request(str(A)))
        before = await meters.report(A)
        clock.now_s += LIVENESS_S + 1
        other = meters.start_request(str(B))
        other.moved_bytes += 1
        await meters.report(B)
        after = await meters.report(A)
        assert after.duration_s == before.duration_s
        assert after.total_j == before.total_j

    run(story)


def test_a_meter_that_fails_gives_its_reason_instead_of_a_figure():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        meters.start_request(str(A))
        assert await meters.report(A) == "the counter is gone"

    run(story, FailingMeter(PROFILE))


class ShownMeter(CpuModelMeter):
    """A counter that shows these values, and then 50 J more each time."""

    method, quality, base_w = EnergyMethod.METER, EnergyQuality.MEASURED, None

    def __init__(self, values: Sequence[float]) -> None:
        self._values = list(values)

    def read_energy_j(self, counters: HostCounters) -> float:
        self._values.append(self._values[-1] + 50.0)
        return self._values.pop(0)


@pytest.mark.parametrize(
    ("values", "quality"),
    [
        ([0.0, 50.0, 100.0], EnergyQuality.MEASURED),
        ([5000.0, 5050.0, 20.0, 70.0], EnergyQuality.ASSUMED),
        ([0.0, 50.0, 200_100.0, 200_150.0], EnergyQuality.ASSUMED),
        ([0.0, 0.0, 100.0, 100.0, 200.0], EnergyQuality.ASSUMED),
    ],
    ids=["sound", "set back", "jumping", "renewed seldom"],
)
def test_energy_of_a_meter_that_misbehaves_is_bridged_and_assumed(values: Sequence[float], quality: EnergyQuality):
    async def story(meters: TransferMeters, clock: Clock) -> None:
        meters.start_request(str(A)).moved_bytes += 1000
        for _ in range(6):
            report = await meters.report(A, is_over=False)
        assert report.total_j == pytest.approx(50 * report.duration_s)
        assert report.quality is quality

    run(story, ShownMeter(values))


def test_meter_that_counted_nothing_measures_no_transfer():
    async def story(meters: TransferMeters, clock: Clock) -> None:
        meters.start_request(str(A)).moved_bytes += 1000
        assert await meters.report(A) == "the meter counted nothing meanwhile"

    run(story, ShownMeter([7.0] * 100))


def test_transfer_that_is_shorter_than_its_meter_resolves_is_assumed():
    meter = ShownMeter([0.0])
    meter.resolution_s = 3.0

    async def story(meters: TransferMeters, clock: Clock) -> None:
        meters.start_request(str(A)).moved_bytes += 1000
        for _ in range(5):
            report = await meters.report(A, is_over=False)
            assert (report.quality is EnergyQuality.MEASURED) is (report.duration_s >= 3)
        assert report.quality is EnergyQuality.MEASURED

    run(story, meter)


class LosableMeter(ShownMeter):
    """One that a test may take away."""

    is_away = False

    def read_energy_j(self, counters: HostCounters) -> float:
        if self.is_away:
            raise MeterUnavailable("the counter is gone")
        return super().read_energy_j(counters)

    def set_back(self) -> None:
        self._values = [1.0]


def test_meter_that_is_set_back_between_transfers_measures_the_next_one():
    meter = LosableMeter([5000.0])

    async def story(meters: TransferMeters, clock: Clock) -> None:
        first = meters.start_request(str(A))
        first.moved_bytes += 1000
        await meters.report(A)
        meters.finish_request(first)
        await meters._task
        meter.set_back()
        meters.start_request(str(B)).moved_bytes += 1000
        report = await meters.report(B)
        assert report.total_j == pytest.approx(50 * report.duration_s)
        assert report.quality is EnergyQuality.MEASURED

    run(story, meter)


def test_meter_that_is_set_back_while_it_is_away_measures_the_next_transfer():
    meter = LosableMeter([5000.0])

    async def story(meters: TransferMeters, clock: Clock) -> None:
        meters.start_request(str(A)).moved_bytes += 1000
        await meters.report(A, is_over=False)
        meter.is_away = True
        meters._sample_requested.set()
        await meters._sampled.wait()
        assert await meters.report(A) == "the counter is gone"
        meter.set_back()
        meter.is_away = False
        meters.start_request(str(B)).moved_bytes += 1000
        report = await meters.report(B)
        assert report.total_j == pytest.approx(50 * report.duration_s)
        assert report.quality is EnergyQuality.MEASURED

    run(story, meter)
