"""Cores and frequency while a transfer runs: looked up as they are current, changed where that pays."""

import math
from dataclasses import replace
from itertools import product

import pytest

from tradewind.dataset import ChunkKind
from tradewind.parameters import Caps, Parameters
from tradewind.prediction import PredictedSetting
from tradewind.recommendation import ChunkPlan, CompactTable
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.setting_table import SettingTable
from tradewind.tuning import Basis, ChunkBasis, ChunkProgress, TickSample, begin, step
from tradewind.tuning.resources import ANY_RESOURCES, HostResources, find_nearest, list_alternatives

TICK_S = 5.0
BASE_W, CORE_W = 20.0, 5.0
CORE_BPS, PATH_BPS = 50e6, 400e6
CORES, CONCURRENCY = (1, 2, 4, 8), (2, 4, 8)
TOTAL_BYTES = 10**11


def compute_rate_bps(setting: Parameters) -> float:
    """Cores limit the rate, files at once fill the path."""
    return min(CORE_BPS * setting.cores, PATH_BPS * (1 - math.exp(-setting.concurrency / 2)))


def compute_power_w(cores: int) -> float:
    """Each further core takes more than the one before, so that fewer cores move a byte with less."""
    return BASE_W + CORE_W * cores**1.4


def predict(setting: Parameters) -> PredictedSetting:
    return PredictedSetting(
        parameters=setting,
        log_throughput_mean=math.log(compute_rate_bps(setting)),
        log_throughput_sd=0.05,
        log_power_mean=math.log(compute_power_w(setting.cores)),
        log_power_sd=0.02,
    )


SETTINGS = [Parameters(concurrency=cc, parallelism=1, cores=cores) for cc, cores in product(CONCURRENCY, CORES)]
TABLE = CompactTable(predicted=SettingTable(tuple(map(predict, SETTINGS)), BASE_W))


class Transfer:
    """A transfer whose rate is what the table says, times the path's present gain."""

    def __init__(self, sla: Sla, start: Parameters, *, adjustable=("cores",), caps: Caps | None = None) -> None:
        chunk = ChunkBasis(ChunkPlan(ChunkKind.WHOLE, None, start), 1000, TOTAL_BYTES, TABLE)
        self.basis = Basis(sla, (chunk,), caps=caps or Caps(), adjustable=frozenset(adjustable))
        self.state = begin(self.basis)
        self.sequence, self.moved = 0, 0
        self.reasons: list[str] = []

    @property
    def setting(self) -> Parameters:
        return self.state.decision.chunks[0].parameters

    def run(self, ticks: int, gain: float = 1.0, current: HostResources | None = None) -> Parameters:
        """Tick, and return the last setting; ``current`` : resources that the host has whatever is decided."""
        for _ in range(ticks):
            self.sequence += 1
            setting = self.setting if current is None else current.apply_to(self.setting)
            rate_bps = gain * compute_rate_bps(setting)
            self.moved += int(rate_bps * TICK_S / 8)
            left = TOTAL_BYTES - self.moved
            sample = TickSample(
                sequence=self.sequence,
                at_s=self.sequence * TICK_S,
                interval_s=TICK_S,
                bytes_moved=self.moved,
                throughput_bps=rate_bps,
                remaining_bytes=left,
                remaining_files=900,
                power_w=compute_power_w(setting.cores or 8),
                chunks=(ChunkProgress(ChunkKind.WHOLE, setting, rate_bps, left),),
            )
            self.state, decision = step(self.basis, self.state, sample)
            self.reasons.append(decision.reason)
        return self.setting


def at_least(target_bps: float) -> Sla:
    return Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=target_bps, energy_basis=EnergyBasis.DYNAMIC)


START = Parameters(concurrency=8, parallelism=1, cores=2)


def test_more_cores_are_taken_under_load_and_given_back_after_it():
    transfer = Transfer(at_least(80e6), START)
    assert transfer.run(4).cores == 2
    assert transfer.run(8, gain=0.5).cores == 4
    assert any("cores instead of 2 cores" in reason for reason in transfer.reasons)
    assert transfer.run(12).cores == 2


def test_cores_that_may_not_be_changed_stay():
    transfer = Transfer(at_least(80e6), START, adjustable=())
    assert transfer.run(10, gain=0.5).cores == 2


def test_no_more_cores_are_taken_than_caps_permit():
    transfer = Transfer(at_least(80e6), START, caps=Caps(cores=3))
    assert transfer.run(10, gain=0.5).cores == 2


def test_fastest_setting_takes_the_cores_that_it_needs_at_once():
    transfer = Transfer(Sla(kind=SlaKind.MAX_THROUGHPUT), START)
    assert transfer.run(6).cores == 8


def test_setting_of_least_energy_is_found_among_all_cores():
    frugal = Sla(kind=SlaKind.MIN_ENERGY, energy_basis=EnergyBasis.TOTAL)

    def compute_energy(setting: Parameters) -> float:
        return compute_power_w(setting.cores) / compute_rate_bps(setting)

    chosen = Transfer(frugal, replace(START, cores=1)).run(10)
    least = min(SETTINGS, key=compute_energy)
    energy = [compute_energy(each) for each in (chosen, least)]
    assert energy[0] <= 1.11 * energy[1]


def test_rate_is_compared_with_the_cores_current_not_with_the_fastest():
    """On one core the table's rate of one core is expected, so nothing seems to have changed."""
    transfer = Transfer(Sla(kind=SlaKind.MAX_THROUGHPUT), replace(START, cores=1), adjustable=())
    transfer.run(5)
    assert abs(transfer.state.belief.path.mean) < 0.05


def test_host_that_cannot_follow_is_judged_by_what_it_has():
    transfer = Transfer(at_least(80e6), START)
    transfer.run(10, gain=0.5, current=HostResources(cores=2))
    assert transfer.state.belief.path.mean == pytest.approx(math.log(0.5), abs=0.1)


def test_stored_state_goes_on_with_its_cores():
    transfer = Transfer(at_least(80e6), START)
    transfer.run(8, gain=0.5)
    restored = type(transfer.state).from_dict(transfer.state.to_dict())
    assert restored.decision.chunks[0].parameters.cores == 4


@pytest.mark.parametrize(
    ("current", "nearest"),
    [
        (HostResources(2, 1.8e9), HostResources(2, 2e9)),
        (HostResources(3, None), HostResources(4, None)),
        (HostResources(64, 9e9), HostResources(4, 2e9)),
        (ANY_RESOURCES, ANY_RESOURCES),
    ],
)
def test_nearest_resources_of_the_table_are_looked_up(current, nearest):
    table = [Parameters(cores=cores, frequency_hz=hz) for cores in (2, 4) for hz in (1e9, 2e9)]
    assert find_nearest(table, current) == nearest


def test_frequency_is_left_open_where_no_setting_has_both():
    table = [Parameters(cores=2, frequency_hz=1e9), Parameters(cores=4, frequency_hz=2e9)]
    assert find_nearest(table, HostResources(2, 2e9)) == HostResources(2, None)


def test_alternatives_differ_in_what_may_be_changed_alone():
    table = [Parameters(cores=cores, frequency_hz=hz) for cores in (2, 4) for hz in (1e9, 2e9)]
    now = HostResources(2, 1e9)
    assert set(list_alternatives(table, now, ("cores",))) == {HostResources(4, 1e9)}
    assert set(list_alternatives(table, now, ("frequency_hz",))) == {HostResources(2, 2e9)}
    assert len(list_alternatives(table, now, ("cores", "frequency_hz"))) == 3
    assert list_alternatives(table, now, ()) == ()
