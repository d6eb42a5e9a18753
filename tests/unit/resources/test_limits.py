"""Limits as values, and verdicts as parameters of a record."""

import pytest

from tradewind.errors import InvalidUnit, InvalidValue
from tradewind.parameters import Parameters
from tradewind.units import format_hertz, parse_hertz
from tradewind_agent.resources.applied import Advice, Applied, Enforced
from tradewind_agent.resources.limits import NO_LIMITS, Limits


@pytest.mark.parametrize("name", ["cores", "frequency_hz", "memory_bytes", "disk_bps", "nic_bps"])
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan")])
def test_a_limit_is_above_zero_and_finite(name, value):
    with pytest.raises(InvalidValue, match=f"limits.{name}"):
        Limits(**{name: value})


def test_the_resources_of_a_plan_are_taken_and_the_user_s_own_win():
    recommended = Limits.of(Parameters(concurrency=8, cores=4, frequency_hz=2e9))
    assert recommended == Limits(cores=4, frequency_hz=2e9)
    assert Limits(cores=1, nic_bps=1e6).complete_from(recommended) == Limits(cores=1, frequency_hz=2e9, nic_bps=1e6)
    assert recommended.without("cores") == Limits(frequency_hz=2e9)
    assert NO_LIMITS.select_known() == {}


def test_only_what_is_enforced_is_current():
    applied = Applied([Enforced("cores", 2.0, ""), Enforced("memory_bytes", 1e9, ""), Advice("nic_bps", 1e6, "")])
    assert applied.parameters == Parameters(cores=2, memory_bytes=10**9)
    assert Applied([Enforced("cores", 1.0, "bound"), Enforced("cores", 0.5, "quota")]).parameters == Parameters(cores=1)
    assert Applied([Enforced("cores", 1.0, "bound"), Advice("cores", 0.5, "")]).parameters == Parameters(cores=1)


def test_undoing_happens_once_and_at_the_end_of_the_block():
    undone = []

    def undo():
        undone.append(1)
        return ["something is left"]

    with Applied([], undo) as applied:
        assert undone == []
    applied.undo()
    assert undone == [1]
    assert applied.left == ("something is left",)


def test_frequencies_are_read_and_reported_with_their_unit():
    assert parse_hertz("2.4GHz") == 2.4e9
    assert parse_hertz("800 MHz") == 8e8
    assert format_hertz(2.4e9) == "2.4 GHz"
    with pytest.raises(InvalidUnit, match=r"2\.4GHz"):
        parse_hertz("2.4")
