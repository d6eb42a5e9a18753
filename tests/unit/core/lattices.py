"""Small lattices of predicted settings, and SLAs, for property tests."""

import math

from hypothesis import strategies as st

from tradewind.parameters import Parameters
from tradewind.prediction import PredictedSetting
from tradewind.sla.kinds import CONFIDENCES, EnergyBasis, Sla, SlaKind
from tradewind.tiers.setting_table import SettingTable

SINGLE = (SlaKind.MAX_THROUGHPUT, SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY)
SPREADS = st.just(0.0) | st.floats(1e-3, 0.5)


@st.composite
def predicted_settings(draw, *, powered: bool, parameters: Parameters) -> PredictedSetting:
    throughput_sd = draw(SPREADS)
    power_sd = draw(SPREADS) if powered else 0.0
    correlation = draw(st.floats(-0.9, 0.9))
    return PredictedSetting(
        parameters=parameters,
        log_throughput_mean=draw(st.floats(math.log(1e6), math.log(1e10))),
        log_throughput_sd=throughput_sd,
        log_power_mean=draw(st.floats(math.log(20), math.log(300))) if powered else None,
        log_power_sd=power_sd,
        log_covariance=correlation * throughput_sd * power_sd,
        certified=draw(st.integers(0, 4)) > 0,
    )


@st.composite
def tables(draw, *, powered: bool = True, largest: int = 6) -> SettingTable:
    """At most ``largest`` settings with distinct cc and p; base power is known where power is."""
    points = draw(
        st.lists(
            st.tuples(st.sampled_from((1, 2, 4, 8)), st.sampled_from((1, 2, 4))),
            min_size=1,
            max_size=largest,
            unique=True,
        )
    )
    settings = [
        draw(predicted_settings(powered=powered, parameters=Parameters(concurrency=cc, parallelism=p)))
        for cc, p in points
    ]
    return SettingTable(tuple(settings), 50.0 if powered else None)


@st.composite
def draw_slas(draw):
    kind = draw(st.sampled_from(list(SlaKind)))
    confidence = draw(st.sampled_from(CONFIDENCES))
    basis = draw(st.sampled_from(list(EnergyBasis)))
    if kind in SINGLE:
        return Sla(kind=kind, confidence=confidence, energy_basis=basis)
    if kind is SlaKind.THROUGHPUT_AT_LEAST and draw(st.booleans()):
        return Sla(kind=kind, fraction=draw(st.floats(0.05, 1.0)), confidence=confidence, energy_basis=basis)
    ranges = {
        SlaKind.THROUGHPUT_AT_LEAST: (1e6, 1e10),
        SlaKind.DEADLINE: (1.0, 1e4),
        SlaKind.ENERGY_AT_MOST: (0.1, 1e5),
        SlaKind.POWER_AT_MOST: (5.0, 400.0),
    }
    low, high = map(math.log, ranges[kind])
    return Sla(kind=kind, target=math.exp(draw(st.floats(low, high))), confidence=confidence, energy_basis=basis)
