import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core.lattices import SINGLE, draw_slas, tables
from tradewind.errors import InvalidValue
from tradewind.learning.partition import solve_partitions
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.prediction import (
    PredictedSetting,
    Quantity,
    compute_merit,
    compute_probability,
    compute_z,
    predict_merit,
)
from tradewind.sla.kinds import CONFIDENCES, EnergyBasis, Sla, SlaKind
from tradewind.tiers.selection import choose_setting, compute_target_in_unit
from tradewind.tiers.setting_table import QUANTITY_OF, SettingTable

DATASET_BYTES = 1e9
CAPS = st.sampled_from((NO_CAPS, Caps(concurrency=2), Caps(parallelism=2), Caps(streams=4), Caps(concurrency=1)))


def keeps(table, setting, sla, *, slack=0.0):
    """The chance constraint, written out."""
    quantity = QUANTITY_OF[sla.kind]
    target = compute_target_in_unit(
        sla, dataset_bytes=DATASET_BYTES, certifiable_bps=table.find_certifiable_throughput_bps(sla.confidence)
    )
    own = predict_merit(setting, quantity, sla.energy_basis, table.base_power_w)
    if not target:
        return True
    needed = compute_merit(target, quantity, sla.energy_basis)
    return own.mean - compute_z(sla.confidence) * own.sd >= needed - slack * (1.0 if abs(needed) > 1 else abs(needed))


def cost(table, setting, sla):
    if sla.kind in {SlaKind.MAX_THROUGHPUT, SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST}:
        return -setting.log_throughput_mean
    energy, log_rate = -predict_merit(setting, Quantity.ENERGY, sla.energy_basis, table.base_power_w).mean, 0.0
    if sla.kind is SlaKind.ENERGY_EFFICIENCY:
        log_rate = setting.log_throughput_mean
    return energy / math.exp(log_rate) if sla.energy_basis is EnergyBasis.DYNAMIC else energy - log_rate


@given(tables(), draw_slas(), CAPS)
def test_a_choice_keeps_the_caps_and_if_feasible_the_chance_constraint(table, sla, caps):
    choice = choose_setting(table, sla, caps, dataset_bytes=DATASET_BYTES)
    permitted = [one for one in table.settings if caps.allow(one.parameters)]
    if not permitted:
        assert choice is None
        return
    assert caps.allow(choice.setting.parameters)
    if choice.feasible:
        assert choice.setting.certified
        if sla.kind not in SINGLE:
            assert keeps(table, choice.setting, sla, slack=1e-6)
            assert choice.probability >= sla.confidence - 1e-6


@given(tables(), draw_slas(), CAPS)
def test_no_permitted_certified_setting_that_keeps_the_target_costs_less(table, sla, caps):
    choice = choose_setting(table, sla, caps, dataset_bytes=DATASET_BYTES)
    rivals = [
        one
        for one in table.settings
        if one.certified and caps.allow(one.parameters) and (sla.kind in SINGLE or keeps(table, one, sla))
    ]
    if choice is None or not choice.feasible:
        return
    least = min(cost(table, rival, sla) for rival in rivals)
    assert cost(table, choice.setting, sla) <= least + slack_of(sla, least) + 1e-12


def slack_of(sla, least):
    """What an agreement without a target may cost more than the least, written out."""
    if sla.kind not in {SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY}:
        return 0.0
    return math.log(1.05) if sla.energy_basis is EnergyBasis.TOTAL else 0.05 * max(least, 0.0)


@given(tables(), CAPS, st.sampled_from(list(EnergyBasis)))
def test_fastest_of_the_nearly_most_frugal_settings_is_chosen(table, caps, basis):
    sla = Sla(kind=SlaKind.MIN_ENERGY, energy_basis=basis)
    choice = choose_setting(table, sla, caps, dataset_bytes=DATASET_BYTES)
    if choice is None:
        return
    permitted = [one for one in table.settings if caps.allow(one.parameters)]
    sure = [one for one in permitted if one.certified] or permitted
    least = min(cost(table, one, sla) for one in sure)
    alike = [one for one in sure if cost(table, one, sla) <= least + slack_of(sla, least) - 1e-12]
    assert all(choice.setting.log_throughput_mean >= one.log_throughput_mean for one in alike)


def setting_of(concurrency, mbps, watts, *, certified=True):
    return PredictedSetting(
        parameters=Parameters(concurrency=concurrency, parallelism=2, pipelining=8),
        log_throughput_mean=math.log(1e6 * mbps),
        log_throughput_sd=0.2,
        log_power_mean=math.log(watts),
        certified=certified,
    )


@pytest.mark.parametrize(
    ("rival", "chosen"),
    [
        (setting_of(3, 95, 95 * 0.80), 3),  # 2 % more energy, a third faster
        (setting_of(3, 95, 95 * 0.84), 2),  # 7 % more energy
        (setting_of(3, 65, 65 * 0.80), 2),  # slower and less frugal
        (setting_of(3, 95, 95 * 0.80, certified=False), 2),
    ],
)
def test_two_percent_of_energy_are_given_for_a_third_more_throughput(rival, chosen):
    table = SettingTable((setting_of(2, 70, 70 * 0.784), rival), 20.0)
    choice = choose_setting(table, Sla(kind=SlaKind.MIN_ENERGY), dataset_bytes=DATASET_BYTES)
    assert choice.setting.parameters.concurrency == chosen
    partition = next(part for part in solve_partitions(table) if part.kind is SlaKind.MIN_ENERGY)
    assert partition.parameters.concurrency == chosen


@given(tables(), draw_slas(), CAPS)
def test_an_infeasible_answer_is_the_likeliest_one_and_says_so(table, sla, caps):
    choice = choose_setting(table, sla, caps, dataset_bytes=DATASET_BYTES)
    if choice is None or choice.feasible or sla.kind in SINGLE:
        return
    quantity = QUANTITY_OF[sla.kind]
    target = compute_target_in_unit(
        sla, dataset_bytes=DATASET_BYTES, certifiable_bps=table.find_certifiable_throughput_bps(sla.confidence)
    )
    if not target:
        return
    needed = compute_merit(target, quantity, sla.energy_basis)
    permitted = [one for one in table.settings if caps.allow(one.parameters)]
    ranked = [one for one in permitted if one.certified] or permitted
    best = max(
        compute_probability(predict_merit(one, quantity, sla.energy_basis, table.base_power_w), needed)
        for one in ranked
    )
    assert choice.probability == pytest.approx(best, abs=1e-6)
    assert choice.probability < sla.confidence or not choice.setting.certified


@given(tables(largest=12), st.sampled_from(list(Quantity)), st.sampled_from(list(EnergyBasis)), st.floats(-3, 3))
def test_whatever_is_needed_one_of_the_contenders_is_the_likeliest_to_reach_it(table, quantity, basis, spreads):
    merits = table.compute_merits(quantity, basis)
    certified = [i for i, setting in enumerate(table.settings) if setting.certified] or range(len(merits))
    for mean, sd in merits:
        needed = mean + spreads * sd
        best = max(compute_probability(merits[i], needed) for i in certified)
        among_few = max(compute_probability(merits[i], needed) for i in table.find_contenders(quantity, basis))
        assert among_few == pytest.approx(best, abs=1e-9)


def test_a_target_out_of_reach_of_all_settings_gets_the_fastest_and_not_the_least_known():
    slow_and_vague = replace(one(1, throughput=50e6), log_throughput_sd=0.5)
    fast_and_known = replace(one(8, throughput=65e6), log_throughput_sd=0.05)
    table = SettingTable((slow_and_vague, fast_and_known))
    for target, concurrency in ((100e6, 1), (4e9, 8)):
        choice = choose_setting(
            table, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=target), dataset_bytes=DATASET_BYTES
        )
        assert not choice.feasible
        assert choice.setting.parameters.concurrency == concurrency


def test_dominated_settings_are_no_contenders():
    similar = tuple(one(cc, throughput=cc * 1e6) for cc in range(1, 65))
    (fastest,) = SettingTable(similar).find_contenders(Quantity.THROUGHPUT, EnergyBasis.TOTAL)
    assert fastest == 63


@given(tables(), draw_slas(), CAPS)
def test_higher_confidence_never_gives_a_laxer_setting(table, sla, caps):
    if sla.kind in SINGLE or sla.fraction is not None:
        return
    choices = [
        choose_setting(
            table,
            Sla(kind=sla.kind, target=sla.target, confidence=confidence, energy_basis=sla.energy_basis),
            caps,
            dataset_bytes=DATASET_BYTES,
        )
        for confidence in CONFIDENCES
    ]
    if choices[0] is None:
        return
    feasible = [choice for choice in choices if choice.feasible]
    assert [choice.feasible for choice in choices] == sorted((choice.feasible for choice in choices), reverse=True)
    probabilities = [choice.probability for choice in feasible]
    assert all(later >= sooner - 1e-9 for sooner, later in pairwise(probabilities))
    costs = [cost(table, choice.setting, sla) for choice in feasible]
    assert all(later >= sooner for sooner, later in pairwise(costs))


def one(cc, *, throughput=1e9, power=None, certified=True):
    return PredictedSetting(
        parameters=Parameters(concurrency=cc, parallelism=1),
        log_throughput_mean=math.log(throughput),
        log_throughput_sd=0.1,
        log_power_mean=None if power is None else math.log(power),
        log_power_sd=0.05,
        certified=certified,
    )


def test_without_power_the_fewest_streams_that_keep_the_rate_are_taken():
    table = SettingTable((one(16, throughput=9e8), one(4, throughput=6e8), one(2, throughput=2e8)))
    sla = Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=4e8)
    assert choose_setting(table, sla, dataset_bytes=1e9).setting.parameters.concurrency == 4


def test_energy_sla_without_power_is_refused_even_after_a_rate_was_solved():
    table = SettingTable((one(16), one(4)))
    choose_setting(table, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=4e8), dataset_bytes=1e9)
    with pytest.raises(InvalidValue, match="not metered"):
        choose_setting(table, Sla(kind=SlaKind.MIN_ENERGY), dataset_bytes=1e9)


def test_a_deadline_is_the_rate_that_keeps_it():
    table = SettingTable((one(16, throughput=9e8, power=150), one(4, throughput=6e8, power=80)))
    by_rate = choose_setting(table, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=5e8), dataset_bytes=1e9)
    by_deadline = choose_setting(table, Sla(kind=SlaKind.DEADLINE, target=16.0), dataset_bytes=1e9)
    assert by_rate.setting == by_deadline.setting
    assert by_rate.probability == pytest.approx(by_deadline.probability)


def test_energy_target_covers_the_complete_data_set():
    table = SettingTable((one(16, throughput=9e8, power=200), one(4, throughput=6e8, power=50)))
    joules = 8 * 60 / 6e8
    sla = Sla(kind=SlaKind.ENERGY_AT_MOST, target=joules * 1e10, confidence=0.5)
    assert choose_setting(table, sla, dataset_bytes=1e10).setting.parameters.concurrency == 4
    assert not choose_setting(table, sla, dataset_bytes=1e12).feasible


def test_full_certifiable_maximum_is_feasible():
    table = SettingTable((one(16, throughput=9e8), one(4, throughput=6e8)))
    choice = choose_setting(table, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=1.0), dataset_bytes=1e9)
    assert choice.feasible
    assert choice.probability == pytest.approx(0.9, abs=1e-6)


def test_a_setting_outside_the_hull_is_never_promised():
    table = SettingTable((one(16, throughput=9e9, certified=False), one(4, throughput=6e8)))
    assert (
        choose_setting(table, Sla(kind=SlaKind.MAX_THROUGHPUT), dataset_bytes=1e9).setting.parameters.concurrency == 4
    )
    choice = choose_setting(table, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=5e9), dataset_bytes=1e9)
    assert not choice.feasible
    assert choice.probability < 0.01


def test_caps_below_every_setting_give_no_choice():
    table = SettingTable((one(16), one(4)))
    assert choose_setting(table, Sla(kind=SlaKind.MAX_THROUGHPUT), Caps(concurrency=2), dataset_bytes=1e9) is None


def test_an_empty_data_set_meets_any_deadline():
    table = SettingTable((one(16, power=100), one(4, power=80)))
    assert choose_setting(table, Sla(kind=SlaKind.DEADLINE, target=1.0), dataset_bytes=0).feasible


def test_fraction_is_of_what_the_fastest_setting_is_expected_to_reach():
    """A steady setting 25 % slower has the higher bound, and so meets 90 % of the highest bound."""

    def setting(streams, mbps, sd, power_w):
        return PredictedSetting(
            parameters=Parameters(concurrency=streams),
            log_throughput_mean=math.log(mbps * 1e6),
            log_throughput_sd=sd,
            log_power_mean=math.log(power_w),
            log_power_sd=0.02,
        )

    steady, fast, frugal = setting(1, 75, 0.01, 20.0), setting(8, 100, 0.2, 60.0), setting(4, 92, 0.15, 40.0)
    table = SettingTable((steady, fast, frugal), 10.0)
    choice = choose_setting(table, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.9), dataset_bytes=1e9)
    assert choice is not None
    assert choice.feasible
    assert choice.setting is frugal
    halved = choose_setting(table, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.5), dataset_bytes=1e9)
    assert halved is not None
    assert halved.setting is steady


@given(tables(), st.floats(0.05, 1.0), st.sampled_from(CONFIDENCES))
def test_fraction_stays_feasible_wherever_a_setting_is_certified(table, fraction, confidence):
    choice = choose_setting(
        table, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=fraction, confidence=confidence), dataset_bytes=1e9
    )
    assert choice is not None
    assert choice.feasible == any(setting.certified for setting in table.settings)


def efficiency(table, setting, basis):
    """Throughput a joule, as a number that may be negative where the dynamic energy is."""
    energy = -predict_merit(setting, Quantity.ENERGY, basis, table.base_power_w).mean
    energy_j = energy if basis is EnergyBasis.DYNAMIC else math.exp(energy)
    return energy_j / math.exp(setting.log_throughput_mean)


@given(tables(), st.sampled_from(EnergyBasis))
def test_energy_efficiency_is_within_five_percent_of_the_most_throughput_a_joule(table, basis):
    choice = choose_setting(table, Sla(kind=SlaKind.ENERGY_EFFICIENCY, energy_basis=basis), dataset_bytes=1e9)
    assert choice is not None
    certified = [each for each in table.settings if each.certified] or table.settings
    least = min(efficiency(table, each, basis) for each in certified)
    assert choice.setting in certified
    assert efficiency(table, choice.setting, basis) <= least + 0.05 * abs(least) + 1e-12 * abs(least)


@given(tables())
def test_most_efficient_setting_is_no_slower_than_the_most_frugal_one(table):
    efficient, frugal = (
        table.settings[table.order_by_cost(table.choose_objective(kind), EnergyBasis.TOTAL)[0]]
        for kind in (SlaKind.ENERGY_EFFICIENCY, SlaKind.MIN_ENERGY)
    )
    assert efficient.log_throughput_mean >= frugal.log_throughput_mean - 1e-9


def test_efficiency_pays_joules_for_speed_and_least_energy_does_not():
    frugal = PredictedSetting(
        parameters=Parameters(concurrency=1), log_throughput_mean=math.log(50e6), log_throughput_sd=0.01,
        log_power_mean=math.log(20.0), log_power_sd=0.01,
    )  # fmt: skip
    fast = replace(
        frugal,
        parameters=Parameters(concurrency=8),
        log_throughput_mean=math.log(100e6),
        log_power_mean=math.log(50.0),
    )
    table = SettingTable((frugal, fast), 10.0)
    chosen = {
        kind: choose_setting(table, Sla(kind=kind), dataset_bytes=1e9).setting
        for kind in (SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY)
    }
    assert chosen == {SlaKind.MIN_ENERGY: frugal, SlaKind.ENERGY_EFFICIENCY: fast}
