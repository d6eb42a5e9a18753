from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.energy.power_model import (
    CalibrationSample,
    CurveForm,
    FineModel,
    cross_validate,
    fit_cpu,
    fit_fine,
    fit_line,
)
from tradewind.errors import CannotFit, InvalidValue

TRUTH = FineModel(12.0, {"cpu": 40.0, "disk": 4.0, "nic": 3.0})


def by_cpu(points):
    return [CalibrationSample(number, {"cpu": load}, power_w) for number, (load, power_w) in enumerate(points)]


def synthetic(noise=0.0):
    random = Random(3)
    usages = [{name: random.random() for name in TRUTH.component_w} for _ in range(40)]
    return [
        CalibrationSample(number, usage, TRUTH.predict_power_w(usage) * random.gauss(1, noise))
        for number, usage in enumerate(usages)
    ]


def test_coefficients_are_recovered_from_a_synthetic_trace():
    fitted = cross_validate(synthetic(), fit_fine)
    assert fitted.model.idle_w == pytest.approx(12, abs=0.05)
    assert fitted.model.component_w == pytest.approx(dict(TRUTH.component_w), abs=0.02)
    assert fitted.error < 1e-3


def test_reported_error_is_that_of_unseen_steps():
    assert cross_validate(synthetic(noise=0.05), fit_fine).error == pytest.approx(0.05 * 0.8, rel=0.5)


def test_a_component_that_was_never_exercised_is_left_out_and_none_is_negative():
    samples = [CalibrationSample(n, {"cpu": n / 10, "disk": 0.3}, 20 - n) for n in range(10)]
    assert fit_fine(samples).component_w == {"cpu": 0.0}


def test_a_processor_at_its_power_limit_has_a_plateau():
    points = [(load / 10, 5 + 150 * min(load / 10, 0.7)) for load in range(11)]
    model = fit_cpu(by_cpu(points))
    assert model.form is CurveForm.PLATEAU
    assert [model.predict_power_w({"cpu": load}) for load in (0, 0.35, 0.85, 1)] == pytest.approx(
        [5, 57.5, 110, 110], abs=1
    )


def test_a_bent_curve_is_followed_and_a_straight_one_stays_a_line():
    bent = by_cpu([(load / 10, 2 + 90 * (load / 10) ** 4) for load in range(11)])
    assert fit_cpu(bent).form is CurveForm.CURVE
    assert cross_validate(bent, fit_cpu).error < cross_validate(bent, fit_line).error / 2
    assert fit_cpu(by_cpu([(load / 10, 2 + 9 * load / 10) for load in range(11)])).predict_power_w(
        {"cpu": 0.55}
    ) == pytest.approx(6.95)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 200)), min_size=6, max_size=14))
def test_more_load_never_takes_less_power(points):
    points += [(0.0, 1.0), (1.0, 100.0)]
    model = fit_cpu(by_cpu(points))
    powers_w = [model.predict_power_w({"cpu": step / 50}) for step in range(51)]
    assert all(later >= before - 1e-6 for before, later in pairwise(powers_w))
    assert min(powers_w) >= 0


@pytest.mark.parametrize(
    ("samples", "error", "told"),
    [
        (by_cpu([(0, 1), (1, 2)]), CannotFit, "too few"),
        (by_cpu([(0.5, 1)] * 5), CannotFit, "does not vary"),
        (by_cpu([(0, 1), (0.5, -1), (0.7, 2), (1, 2)]), InvalidValue, "not be negative|finite and not negative"),
        (by_cpu([(0, 0), (0.5, 0), (0.7, 0), (1, 0)]), InvalidValue, "0 W in every sample"),
        (by_cpu([(0, 1), (0.5, float("nan")), (0.7, 2), (1, 2)]), InvalidValue, "finite"),
    ],
)
def test_samples_that_determine_nothing_are_refused(samples, error, told):
    with pytest.raises(error, match=told):
        fit_cpu(samples)
