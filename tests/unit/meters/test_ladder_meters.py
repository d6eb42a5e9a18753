"""Meters that are no use to a calibration: renewed too seldom for its steps, set back, or jumping."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.meters.made_up import START
from tests.unit.meters.test_calibration import CPU_W, IDLE_W, Scene
from tradewind.energy.measured import EnergyMethod
from tradewind.errors import CannotFit
from tradewind_agent.meters.calibration import calibrate
from tradewind_agent.meters.stored_models import load_calibrated_meter, store_calibration
from tradewind_agent.meters.utilisation import describe_processors


def climb_with(distort: Callable[[float, float], float], step_s: float) -> Scene:
    """Climb with a meter that shows the energy, at a time, distorted so."""
    scene = Scene()
    scene.meter = lambda counters: distort(scene.energy_j, counters.at_s - START.at_s)
    scene.steps = scene.climb(step_s=step_s)
    return scene


def renew_each(period_s: float) -> Callable[[float, float], float]:
    shown: dict[int, float] = {}
    return lambda energy_j, at_s: shown.setdefault(int(at_s // period_s), energy_j)


@pytest.mark.parametrize(
    ("distort", "reason"),
    [
        (renew_each(2), "shows the same energy for 0.9.* s; calibrate with --step 15s or more"),
        (renew_each(5), "step 1 of 10: the meter shows the same energy .* --step 25s or more"),
        (lambda _energy_j, _at_s: 7.0, "the meter shows the same energy"),
        (lambda energy_j, at_s: energy_j - (400 if at_s > 3 else 0), "step 1 of 10: the meter went from "),
        (lambda energy_j, at_s: energy_j + (99_000 if at_s > 8 else 0), "step 2 of 10: the meter went from "),
    ],
)
def test_meter_that_a_step_cannot_be_measured_with_ends_the_ladder(
    distort: Callable[[float, float], float], reason: str
) -> None:
    with pytest.raises(CannotFit, match=reason):
        climb_with(distort, step_s=5.0)


@pytest.mark.parametrize(("period_s", "step_s"), [(2, 15.0), (2, 60.0), (5, 32.0), (60, 400.0)])
def test_longer_steps_suffice_for_a_counter_that_is_renewed_seldom(
    period_s: float, step_s: float, tmp_path: Path
) -> None:
    climbed = climb_with(renew_each(period_s), step_s).steps
    found = calibrate(climbed, method=EnergyMethod.METER, source="synthetic")
    assert (found.idle_w, found.component_w["cpu"]) == pytest.approx((IDLE_W, CPU_W), rel=0.1)
    store_calibration(found, tmp_path)
    meter = load_calibrated_meter(tmp_path)
    assert meter is not None
    assert meter.host == describe_processors()


def test_coarse_counter_of_a_host_near_the_largest_power_does_not_jump() -> None:
    """It counts 18 kW in steps of 5 s: more than a second of any host, and less than 5 s."""
    coarse = renew_each(5)
    found = calibrate(
        climb_with(lambda energy_j, at_s: 400 * coarse(energy_j, at_s), step_s=32.0).steps,
        method=EnergyMethod.METER,
        source="synthetic",
    )
    assert found.component_w["cpu"] == pytest.approx(400 * CPU_W, rel=0.1)
