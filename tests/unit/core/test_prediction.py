import math

import numpy as np
import pytest

from tradewind.errors import InvalidValue
from tradewind.parameters import UNTUNED
from tradewind.prediction import (
    Gaussian,
    PredictedSetting,
    Quantity,
    compute_merit,
    compute_probability,
    compute_target,
    compute_z,
    predict,
    predict_merit,
)
from tradewind.sla.kinds import EnergyBasis

SETTING = PredictedSetting(
    parameters=UNTUNED,
    log_throughput_mean=math.log(8e8),
    log_throughput_sd=0.02,
    log_power_mean=math.log(100.0),
    log_power_sd=0.03,
    log_covariance=0.0003,
)


def test_total_energy_of_a_byte_is_eight_times_power_over_throughput():
    energy = predict_merit(SETTING, Quantity.ENERGY, EnergyBasis.TOTAL)
    assert compute_target(energy.mean, Quantity.ENERGY, EnergyBasis.TOTAL) == pytest.approx(8 * 100 / 8e8)
    assert energy.sd == pytest.approx(math.sqrt(0.02**2 + 0.03**2 - 2 * 0.0003))


def test_dynamic_energy_takes_base_power_off():
    energy = predict_merit(SETTING, Quantity.ENERGY, EnergyBasis.DYNAMIC, 60.0)
    assert energy.mean == pytest.approx(-8 * 40 / 8e8)


def test_dynamic_energy_may_be_negative():
    assert predict_merit(SETTING, Quantity.ENERGY, EnergyBasis.DYNAMIC, 120.0).mean > 0


def test_spread_of_dynamic_energy_agrees_with_simulation():
    rng = np.random.default_rng(3)
    covariance = [[0.02**2, 0.0003], [0.0003, 0.03**2]]
    log_t, log_p = rng.multivariate_normal([math.log(8e8), math.log(100.0)], covariance, 200_000).T
    simulated = 8 * (np.exp(log_p) - 60.0) / np.exp(log_t)
    energy = predict_merit(SETTING, Quantity.ENERGY, EnergyBasis.DYNAMIC, 60.0)
    assert energy.sd == pytest.approx(simulated.std(), rel=0.02)


@pytest.mark.parametrize("quantity", list(Quantity))
@pytest.mark.parametrize("basis", list(EnergyBasis))
def test_a_target_comes_back_from_its_merit(quantity, basis):
    assert compute_target(compute_merit(2.5, quantity, basis), quantity, basis) == pytest.approx(2.5)


def test_energy_without_power_is_refused():
    unmetered = PredictedSetting(parameters=UNTUNED, log_throughput_mean=20.0, log_throughput_sd=0.1)
    with pytest.raises(InvalidValue, match="not metered"):
        predict_merit(unmetered, Quantity.ENERGY, EnergyBasis.TOTAL)


def test_dynamic_energy_without_base_power_is_refused():
    with pytest.raises(InvalidValue, match="base power"):
        predict_merit(SETTING, Quantity.POWER, EnergyBasis.DYNAMIC)


def test_bound_at_a_confidence_is_met_with_that_probability():
    throughput = Gaussian(20.0, 0.3)
    assert compute_probability(throughput, throughput.lower(compute_z(0.95))) == pytest.approx(0.95)


@pytest.mark.parametrize(("needed", "probability"), [(19.9, 1.0), (20.0, 1.0), (20.1, 0.0)])
def test_target_without_spread_is_met_or_missed_with_certainty(needed, probability):
    assert compute_probability(Gaussian(20.0, 0.0), needed) == probability


def test_prediction_has_the_energy_of_the_complete_data_set():
    told = predict(SETTING, dataset_bytes=1e9)
    assert told.energy_j.low < 1e9 * 8 * 100 / 8e8 < told.energy_j.high
    assert told.throughput_bps.low < 8e8 < told.throughput_bps.mean < told.throughput_bps.high
    assert told.power_w.mean == pytest.approx(100.0, rel=1e-3)


def test_a_dynamic_prediction_is_on_the_linear_scale():
    told = predict(SETTING, dataset_bytes=1e9, basis=EnergyBasis.DYNAMIC, base_power_w=60.0)
    assert told.energy_j.mean == pytest.approx(400.0)
    assert told.energy_j.high - told.energy_j.mean == pytest.approx(told.energy_j.mean - told.energy_j.low)
    assert told.power_w.mean == pytest.approx(40.0)


def test_unmetered_energy_is_not_predicted():
    unmetered = PredictedSetting(parameters=UNTUNED, log_throughput_mean=20.0, log_throughput_sd=0.1)
    told = predict(unmetered, dataset_bytes=1e9)
    assert told.energy_j is None
    assert told.power_w is None
