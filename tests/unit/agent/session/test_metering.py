import asyncio
import time
from math import inf
from pathlib import Path

import pytest

from tradewind.energy.measured import EnergyQuality, Host
from tradewind.errors import InvalidValue
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind_agent.meters import HostReader, choose_meter
from tradewind_agent.session.metering import HostMeter, parse_power_profile


def test_a_power_profile_is_idle_and_full():
    profile = parse_power_profile("35W, 90W")
    assert (profile.idle_w, profile.max_w, profile.quality) == (35.0, 90.0, EnergyQuality.ASSUMED)


@pytest.mark.parametrize("text", ["", "35W", "35W,90W,120W", "35,x", "90W,35W"])
def test_invalid_power_profile_is_refused(text):
    with pytest.raises(InvalidValue):
        parse_power_profile(text)


def test_a_host_whose_radio_is_known_reports_its_tail_next_to_what_it_metered():
    choice = choose_meter(logical_cpus=1, profile=parse_power_profile("1000W,1000W"), sysfs=Path("/nonexistent"))
    lte = load_shipped_catalogue().find_radio("lte")

    async def metered(radio):
        session = await HostMeter(choice, HostReader(time.monotonic), radio=radio).build_session(Host.SOURCE)
        await session.start()
        return (await session.stop()).energy

    assert asyncio.run(metered(None)).tail_j is None
    told = asyncio.run(metered(lte))
    assert told.tail_j == lte.compute_tail_energy_j(inf)
    assert told.dynamic_j == pytest.approx(0, abs=1e-6)  # no part of what was metered


def test_meter_of_entire_host_counts_processes_that_are_not_its_own():
    choice = choose_meter(logical_cpus=2, profile=parse_power_profile("10W,50W"), sysfs=Path("/nonexistent"))
    own = HostMeter(choice, HostReader(time.monotonic))
    everything = own.count_all_processes()
    assert (own.choice.meter.counts_all, everything.choice.meter.counts_all) == (False, True)
    assert "all processes" in everything.choice.explanation


def test_a_session_counts_with_the_profile_given():
    choice = choose_meter(logical_cpus=1, profile=parse_power_profile("1000W,1000W"), sysfs=Path("/nonexistent"))

    async def metered():
        session = await HostMeter(choice, HostReader(time.monotonic)).build_session(Host.SOURCE)
        await session.start()
        return await session.stop()

    result = asyncio.run(metered())
    assert result.energy.host is Host.SOURCE
    assert result.energy.total_j == pytest.approx(1000 * result.work.duration_s)
    assert result.energy.base_w == 1000
