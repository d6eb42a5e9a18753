"""Meters that jump, go backward or vanish: the energy goes on, is bridged by the last power, and is marked."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import accumulate, count, cycle

import pytest

from tests.unit.meters.made_up import PROFILE, START, later
from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind_agent.meters import (
    CpuModelMeter,
    HostCounters,
    MeterResult,
    MeterSession,
    MeterUnavailable,
    measure_base_power,
)
from tradewind_agent.meters.choice import choose_meter
from tradewind_agent.meters.external.source import parse_meter_source
from tradewind_agent.meters.steady import SteadyEnergy
from tradewind_agent.session.metering import describe_meter_failure


class RecordedMeter:
    """A counter that shows recorded values, a second apart; ``None`` where it could not be read."""

    method, quality = EnergyMethod.METER, EnergyQuality.MEASURED
    base_w: float | None = None
    description = "recorded"

    def __init__(self, values: Iterable[float | None]) -> None:
        self._values = iter(values)

    def read_energy_j(self, counters: HostCounters) -> float:
        value = next(self._values)
        if value is None:
            raise MeterUnavailable("http://bmc does not answer")
        return value


def measure(*values: float | None, note: str | None = None, meter: type[RecordedMeter] = RecordedMeter) -> MeterResult:
    async def run() -> MeterResult:
        times = iter(range(len(values)))
        samples, all_but_last = iter(range(1, len(values) - 1)), asyncio.Event()

        async def wait(_seconds: float) -> None:
            if next(samples, None) is None:
                all_but_last.set()
                await asyncio.Event().wait()

        session = MeterSession(meter(values), lambda: later(next(times)), host=Host.SOURCE, note=note, wait=wait)
        await session.start()
        await all_but_last.wait()
        return await session.stop()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("values", "joules", "irregularity"),
    [
        ((0, 10, 20, 30), 30, None),
        ((500, 510, 4, 14), 30, "went backward"),
        ((0, 10, 9e9, 9e9 + 10), 30, "jumped by 9e\\+09 J"),
        ((0, 8e8, 8e8 + 10, 8e8 + 20), 30, "jumped"),
        ((0, 10, None, 30), 30, "could not be read for a while: http://bmc"),
        ((0, None, None, 30), 30, "could not be read"),
        ((0, 10, 10, 3, 13), 40, "stood still"),  # the reset fell into an interval that had been 0 J so far
        ((0, 10, 10, 30, 5, 15), 50, "stood still"),
    ],
)
def test_energy_goes_on_over_what_cannot_be(
    values: tuple[float | None, ...], joules: float, irregularity: str | None
) -> None:
    result = measure(*values)
    assert result.energy is not None
    assert result.energy.total_j == pytest.approx(joules)
    expected = EnergyQuality.MEASURED if irregularity is None else EnergyQuality.ASSUMED
    assert result.energy.quality is expected
    notes = describe_meter_failure(result)
    assert len(notes) == (irregularity is not None), "each thing is noted once"
    if irregularity is not None:
        assert notes[0].startswith("the meter ")
        assert irregularity.replace("\\", "") in notes[0]


def test_meter_that_is_away_at_the_end_measures_nothing() -> None:
    result = measure(0, 10, 20, None)
    assert result.energy is None
    assert describe_meter_failure(result) == ("energy was not measured to the end: http://bmc does not answer",)


def test_value_that_is_no_number_is_no_energy() -> None:
    with pytest.raises(MeterUnavailable, match="no energy"):
        SteadyEnergy().correct(0.0, float("nan"))


def test_models_are_untouched() -> None:
    meter, steady = CpuModelMeter(PROFILE), SteadyEnergy()
    counters = [START, later(1, cpu_s=2), later(2, cpu_s=2)]
    raw = [meter.read_energy_j(each) for each in counters]
    corrected = [steady.correct(each.at_s, joules) for each, joules in zip(counters, raw, strict=True)]
    assert [one - raw[0] for one in raw] == pytest.approx(corrected)
    assert steady.irregularity is None


def test_named_meter_that_cannot_be_read_is_replaced_and_that_is_noted() -> None:
    source = parse_meter_source("kepler:http://127.0.0.1:9")
    choice = choose_meter(logical_cpus=4, profile=PROFILE, source=source)
    assert choice.note is not None
    assert choice.note.startswith("kepler:http://127.0.0.1:9/ cannot be read: ")
    assert "instead" in choice.note
    assert choice.refusals[0][0] is EnergyMethod.METER
    assert describe_meter_failure(measure(0, 10, 20, note=choice.note)) == (choice.note,)


def test_counter_unchanged_between_refreshes_is_assumed() -> None:
    """Of a constant 100 W it shows 0 W and then 300."""
    result = measure(0.0, 0.0, 0.0, 300.0)
    assert result.energy is not None
    assert (result.energy.total_j, result.energy.quality) == (300.0, EnergyQuality.ASSUMED)
    assert describe_meter_failure(result) == ("the meter stood still for 1 s; the energy counts as assumed",)


def test_counter_that_was_never_refreshed_has_no_energy() -> None:
    result = measure(700.0, 700.0, 700.0)
    assert result.energy is None
    assert any("counted nothing" in note for note in describe_meter_failure(result))


@pytest.mark.parametrize(("each_j", "watts"), [((25,), 25.0), ((0, 0, 500), None), ((0,), None)])
def test_base_power_is_not_that_of_a_coarse_counter(each_j: Sequence[float], watts: float | None) -> None:
    times = count()
    meter = RecordedMeter(accumulate(cycle(each_j)))
    found = asyncio.run(measure_base_power(meter, lambda: later(next(times)), duration_s=0.1))
    assert found == (watts if watts is None else pytest.approx(watts))


def test_time_before_the_first_value_counts_at_the_first_power() -> None:
    result = measure(None, None, 20, 30, 40)
    assert result.energy is not None
    assert (result.energy.total_j, result.energy.quality) == (pytest.approx(40), EnergyQuality.ASSUMED)
    assert "could not be read for a while" in describe_meter_failure(result)[0]


class BaseMeter(RecordedMeter):
    """One that knows the power without a transfer."""

    base_w = 4.0


def test_base_energy_is_that_of_the_time_before_the_first_value_too() -> None:
    result = measure(None, None, 20, 30, 40, meter=BaseMeter)
    assert result.energy is not None
    assert result.energy.dynamic_j == pytest.approx(40 - 4 * 4)


class SlowMeter(RecordedMeter):
    """One whose value may be of some seconds before."""

    resolution_s = 2.5


@pytest.mark.parametrize(("values", "quality"), [((0, 10, 20), "assumed"), ((0, 10, 20, 30), "measured")])
def test_transfer_that_is_shorter_than_its_meter_resolves_is_assumed(values: Sequence[float], quality: str) -> None:
    result = measure(*values, meter=SlowMeter)
    assert result.energy is not None
    assert (result.energy.total_j, str(result.energy.quality)) == (values[-1], quality)
    notes = ("the meter needs 2.5 s to measure a transfer; the energy counts as assumed",)
    assert describe_meter_failure(result) == (notes if quality == "assumed" else ())
