"""The budget of energy and power compares like with like: the ends that the target counts with the ends that use it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.simulated_path import SimulatedPath, chunk_basis
from tradewind.dataset import DataSet
from tradewind.energy.ends import BOTH_ENDS, EndPower, LivePower, count_power
from tradewind.energy.measured import Host
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tuning import Basis, begin, resume, step
from tradewind.wire.heartbeats import EndPowerSample, Heartbeat
from tradewind.wire.recommendations import WireTable, serialize_table

SOURCE, DESTINATION = Host.SOURCE, Host.DESTINATION
BYTES = 2 * 10**9
TICKS, TICK_S = 39, 5.0
"""Half of the bytes take 195 s."""
WATTS = 20.0
TARGET_J = 16_080.0
"""Half of it is 240 J more than 195 s of 20 W at each end."""
SETTING = Parameters(concurrency=4, parallelism=1, pipelining=4)
TABLE = SimulatedPath().table(1e7)
EQUAL_ENDS = {SOURCE: EndPower(30.0, 20.0), DESTINATION: EndPower(30.0, 20.0)}


def basis(kind=SlaKind.ENERGY_AT_MOST, target=TARGET_J, *, ends=EQUAL_ENDS, table=TABLE, **changes) -> Basis:
    known = None if table is None else replace(table, power_by_end=ends)
    chunk = chunk_basis(DataSet(file_count=200, total_bytes=BYTES), SETTING, known)
    return Basis(Sla(kind=kind, target=target, **changes), (chunk,), SimulatedPath().path)


def heartbeat(sequence: int, **power) -> Heartbeat:
    moved = BYTES * sequence // (2 * TICKS)
    return Heartbeat(
        sequence=sequence,
        at=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=TICK_S * sequence),
        interval_s=TICK_S if sequence else 0.0,
        bytes_moved=moved,
        throughput_bps=8 * BYTES / (2 * TICKS * TICK_S) if sequence else 0.0,
        remaining_bytes=BYTES - moved,
        remaining_files=200 - 200 * moved // BYTES,
        parameters=SETTING.list_known(),
        **(power if sequence else {}),
    )


def half_done(of: Basis, **power):
    """The decision of the tick at which half of the bytes are moved."""
    state = begin(of)
    for sequence in range(TICKS + 1):
        state, decision = step(of, state, heartbeat(sequence, **power).to_sample())
    return decision


def end(host: Host, power_w: float = WATTS) -> EndPowerSample:
    return EndPowerSample(host=host, power_w=power_w)


@pytest.mark.parametrize(
    "power",
    [
        {"power_w": WATTS, "power_ends": (end(DESTINATION), end(SOURCE))},
        {"power_w": WATTS, "power_ends": (end(DESTINATION),)},
        {"power_w": WATTS},
    ],
    ids=["both metered", "one metered", "an agent that names no end"],
)
@pytest.mark.parametrize("table", [TABLE, None], ids=["history", "no history"])
def test_equal_power_at_both_ends_is_counted_twice(power, table):
    assert half_done(basis(table=table), **power).sla_bank == pytest.approx(240.0)


def test_mean_power_is_budgeted_at_both_ends():
    decision = half_done(basis(SlaKind.POWER_AT_MOST, 41.0), power_w=WATTS, power_ends=(end(DESTINATION),))
    assert decision.sla_bank == pytest.approx(TICKS * TICK_S)


def test_a_lost_state_is_rebuilt_with_the_power_of_both_ends():
    of = basis()
    sample = heartbeat(TICKS, power_w=WATTS, power_ends=(end(DESTINATION),)).to_sample()
    _, decision = step(of, resume(of, sample), sample)
    assert decision.sla_bank == pytest.approx(240.0)


@pytest.mark.parametrize(
    "power_ends", [(end(DESTINATION),), (end(DESTINATION), end(SOURCE, 90.0))], ids=["alone", "beside the other"]
)
def test_a_model_of_one_end_is_compared_with_that_end(power_ends):
    one_end = basis(ends={DESTINATION: EndPower(60.0, 40.0)})
    decision = half_done(one_end, power_w=WATTS, power_ends=power_ends)
    assert decision.sla_bank == pytest.approx(TARGET_J / 2 - WATTS * TICKS * TICK_S)
    assert "metered" not in decision.reason


def test_energy_above_the_base_is_counted_at_both_ends():
    dynamic = basis(target=2 * (50.0 - 40.0) * TICKS * TICK_S + 480.0, energy_basis=EnergyBasis.DYNAMIC)
    decision = half_done(dynamic, power_w=25.0, power_ends=(end(DESTINATION, 25.0),))
    assert decision.sla_bank == pytest.approx(240.0)


@pytest.mark.parametrize(
    ("power", "said"),
    [
        ({"power_ends": (end(DESTINATION),)}, "power is metered at the destination alone, and the source's is scaled"),
        ({}, "power is metered at one end alone, and the other end is taken to equal it"),
        ({"power_ends": (end(DESTINATION), end(SOURCE))}, None),
    ],
    ids=["one end", "an end without a name", "both ends"],
)
def test_a_decision_says_which_power_it_has_not_measured(power, said):
    reason = half_done(basis(), power_w=WATTS, **power).reason
    assert said in reason if said else "metered" not in reason
    for_speed = half_done(basis(SlaKind.MAX_THROUGHPUT, None), power_w=WATTS, **power).reason
    assert "metered" not in for_speed


# The other end from one end

UNEQUAL = {SOURCE: EndPower(90.0, 60.0), DESTINATION: EndPower(30.0, 20.0)}


@given(st.floats(20.0, 500.0))
def test_an_end_that_is_not_metered_is_scaled_above_its_own_base(watts):
    counted = count_power([LivePower(DESTINATION, watts)], BOTH_ENDS, UNEQUAL)
    assert counted.power_w == pytest.approx(watts + 60.0 + 3 * (watts - 20.0))


def test_without_base_powers_all_power_is_scaled():
    model = {SOURCE: EndPower(90.0), DESTINATION: EndPower(30.0)}
    assert count_power([LivePower(SOURCE, 45.0)], BOTH_ENDS, model).power_w == pytest.approx(60.0)


def test_hosts_that_a_transfer_hardly_wakes_are_not_scaled_by_noise():
    idle = {SOURCE: EndPower(90.0, 60.0), DESTINATION: EndPower(30.0, 29.99)}
    assert count_power([LivePower(DESTINATION, 33.0)], BOTH_ENDS, idle).power_w == pytest.approx(33.0 + 99.0)


def test_unmetered_end_is_assumed_to_equal_the_metered_one_and_the_note_says_so():
    counted = count_power([LivePower(DESTINATION, 33.0)], frozenset({SOURCE}), {SOURCE: EndPower(90.0)})
    assert counted.power_w == 33.0
    assert "the source's is taken to equal it" in counted.note


def test_nothing_metered_is_not_zero():
    assert count_power([], BOTH_ENDS, UNEQUAL).power_w is None


@pytest.mark.parametrize("hosts", [(SOURCE, SOURCE), (SOURCE, None)], ids=str)
def test_each_end_is_named_once(hosts):
    readings = tuple(LivePower(host, WATTS) for host in hosts)
    with pytest.raises(InvalidValue, match="power_ends"):
        replace(heartbeat(1).to_sample(), power_ends=readings)


def test_a_table_on_the_wire_carries_the_ends_of_its_power():
    sent = replace(TABLE, power_by_end=UNEQUAL)
    assert WireTable.model_validate_json(serialize_table(sent)).to_table().power_by_end == UNEQUAL
    assert WireTable.model_validate_json(serialize_table(TABLE)).to_table().power_by_end == {}
