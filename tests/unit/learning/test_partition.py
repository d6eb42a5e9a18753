import math
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.core.lattices import tables
from tradewind.learning.partition import list_bases, solve_partitions
from tradewind.learning.tier_bounds import MAX_TIERS, list_round_targets
from tradewind.load_effect import LoadShift
from tradewind.parameters import NO_CAPS, Caps, Lattice
from tradewind.prediction import PredictedSetting, Quantity, compute_merit, compute_z, predict_merit
from tradewind.sla.kinds import CONFIDENCES, EnergyBasis, Sla, SlaKind
from tradewind.tiers.custom import solve_between
from tradewind.tiers.partitions import PartitionKey, find_serving_partition
from tradewind.tiers.selection import choose_setting
from tradewind.tiers.setting_table import QUANTITY_OF, SettingTable

ENERGY_BOUNDED = (SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST)
CAPS = st.sampled_from((NO_CAPS, Caps(concurrency=2), Caps(streams=4)))


def grouped(partitions):
    return {key: list(group) for key, group in groupby(partitions, key=lambda part: part.key)}


def targeted(partitions):
    return {key: parts for key, parts in grouped(partitions).items() if key.kind in QUANTITY_OF}


@settings(max_examples=40)
@given(tables(), CAPS)
def test_partitions_cover_the_certifiable_range_without_gap_or_overlap(table, caps):
    allowed = [one for one in table.settings if one.certified and caps.allow(one.parameters)]
    for key, parts in targeted(solve_partitions(table, caps=caps)).items():
        assert all(before.upper == after.lower for before, after in pairwise(parts))
        if len(parts) > 1:
            assert all(part.lower < part.upper for part in parts)
        assert parts[0].lower <= parts[-1].upper
        assert [part.closed for part in parts] == [False] * (len(parts) - 1) + [True]
        quantity = QUANTITY_OF[key.kind]
        kept = [
            predict_merit(one, quantity, key.energy_basis, table.base_power_w).lower(compute_z(key.confidence))
            for one in allowed
        ]
        hardest = parts[0].lower if key.kind in ENERGY_BOUNDED else parts[-1].upper
        easiest = parts[-1].upper if key.kind in ENERGY_BOUNDED else parts[0].lower
        assert compute_merit(hardest, quantity, key.energy_basis) == pytest.approx(max(kept), rel=1e-9)
        assert compute_merit(easiest, quantity, key.energy_basis) == pytest.approx(min(kept), rel=1e-9)


@settings(max_examples=40)
@given(tables(), CAPS, st.floats(0, 1))
def test_the_serving_setting_keeps_every_target_of_its_partition(table, caps, where):
    for key, parts in targeted(solve_partitions(table, caps=caps)).items():
        quantity = QUANTITY_OF[key.kind]
        for part in parts:
            target = part.lower + where * (part.upper - part.lower)
            if target not in part:
                continue
            own = predict_merit(part.setting, quantity, key.energy_basis, table.base_power_w)
            needed = compute_merit(target, quantity, key.energy_basis)
            assert own.lower(compute_z(key.confidence)) >= needed - 1e-9 * max(
                abs(needed), 1e-12 if needed > -1 else 1.0
            )
            assert part.setting.certified
            assert caps.allow(part.parameters)
            assert part.probability >= key.confidence - 1e-9
            assert part.regret >= -1e-12


@settings(max_examples=40)
@given(tables(), st.sampled_from(CONFIDENCES), st.floats(0.3, 1.3))
def test_partitions_serve_the_slas_that_choosing_finds_feasible(table, confidence, share):
    partitions = grouped(solve_partitions(table))
    best_bps = table.find_certifiable_throughput_bps(confidence)
    if best_bps is None:
        assert not partitions
        return
    sla = Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=share * best_bps, confidence=confidence)
    found = find_serving_partition(partitions[PartitionKey.of(sla)], sla, dataset_bytes=1e9)
    choice = choose_setting(table, sla, dataset_bytes=1e9)
    assert (found is not None) == choice.feasible
    if found is not None:
        energy_of = {one: predict_merit(one, Quantity.ENERGY, EnergyBasis.TOTAL).mean for one in table.settings}
        assert energy_of[found.setting] <= energy_of[choice.setting] + 1e-12


@settings(max_examples=40)
@given(tables())
def test_the_certifiable_range_shrinks_as_confidence_rises(table):
    parts_of = targeted(solve_partitions(table))
    for kind in (SlaKind.THROUGHPUT_AT_LEAST, *ENERGY_BOUNDED):
        for basis in list_bases(table):
            ranges = [parts_of[key] for c in CONFIDENCES if (key := PartitionKey(kind, c, basis)) in parts_of]
            for laxer, stricter in pairwise(ranges):
                if kind in ENERGY_BOUNDED:
                    assert stricter[0].lower >= laxer[0].lower * (1 - 1e-12) - 1e-12 * abs(laxer[0].lower)
                else:
                    assert stricter[-1].upper <= laxer[-1].upper * (1 + 1e-12)


def saturating(*, powered=True, base_power_w=40.0, sd=0.05):
    """A path that fills at about 32 streams while power goes on rising."""
    lattice = tuple(Lattice({"concurrency": (1, 2, 4, 8, 16, 32, 64), "parallelism": (1, 2, 4, 8)}).list_settings())
    streams = np.array([one.streams for one in lattice], dtype=float)
    throughput = 1e9 * (1 - np.exp(-streams / 12)) * np.exp(-streams / 2000)
    power = 60 + 1.5 * streams
    predicted = tuple(
        PredictedSetting(
            parameters=parameters,
            log_throughput_mean=float(np.log(bps)),
            log_throughput_sd=sd,
            log_power_mean=float(np.log(watts)) if powered else None,
            log_power_sd=0.03 if powered else 0.0,
            log_covariance=0.0003 if powered else 0.0,
            certified=parameters.streams < 200,
        )
        for parameters, bps, watts in zip(lattice, throughput, power, strict=True)
    )
    return SettingTable(predicted, base_power_w if powered else None)


def test_few_partitions_serve_a_saturating_path():
    parts = targeted(solve_partitions(saturating(), confidences=(0.9,)))
    for key, group in parts.items():
        assert 1 <= len(group) <= MAX_TIERS
        if key.kind is SlaKind.THROUGHPUT_AT_LEAST:
            streams = [part.parameters.streams for part in group]
            assert streams == sorted(streams)


def test_every_kind_basis_and_confidence_has_its_partitions():
    keys = set(grouped(solve_partitions(saturating())))
    kinds = [kind for kind in SlaKind if kind is not SlaKind.DEADLINE]
    assert keys == {PartitionKey(kind, c, basis) for kind in kinds for c in CONFIDENCES for basis in EnergyBasis}


def test_without_power_only_throughput_is_promised():
    kinds = {part.kind for part in solve_partitions(saturating(powered=False))}
    assert kinds == {SlaKind.MAX_THROUGHPUT, SlaKind.THROUGHPUT_AT_LEAST}


def test_without_base_power_there_is_no_dynamic_basis():
    assert {part.energy_basis for part in solve_partitions(saturating(base_power_w=None))} == {EnergyBasis.TOTAL}


def test_dynamic_energy_prefers_fewer_streams_than_total():
    parts = solve_partitions(saturating(base_power_w=58.0), confidences=(0.9,))
    streams = {part.energy_basis: part.parameters.streams for part in parts if part.kind is SlaKind.MIN_ENERGY}
    assert streams[EnergyBasis.DYNAMIC] < streams[EnergyBasis.TOTAL]


def test_caps_are_solved_again_instead_of_cutting_the_optimum():
    capped = solve_partitions(saturating(), confidences=(0.9,), caps=Caps(concurrency=4, streams=8))
    fastest = next(part for part in capped if part.kind is SlaKind.MAX_THROUGHPUT)
    assert fastest.parameters.streams == 8
    assert fastest.parameters.concurrency <= 4


@pytest.mark.parametrize(
    ("lowest", "highest", "expected"),
    [
        (4.79e-7, 4.8e-7, ()),
        (95e6, 130e6, (1.12e8,)),
        (-3.0, 0.0, ()),
        (90.0, 130.0, (100.0, 112.0)),
        (8.5, 11.5, (10.0,)),
    ],
)
def test_round_targets_lie_well_within_the_ends(lowest, highest, expected):
    assert list_round_targets(lowest, highest) == expected


def test_energy_near_zero_has_a_bounded_count_of_round_targets():
    assert len(list_round_targets(-1e-9, 1.0)) == 60


def test_nothing_certified_gives_no_partition():
    table = saturating()
    assert solve_partitions(table, caps=Caps(streams=1), confidences=(0.9,))
    uncertified = tuple(one for one in table.settings if not one.certified)
    assert solve_partitions(SettingTable(uncertified, 40.0)) == ()


def test_tiers_follow_what_customers_ask_for():
    table = saturating()
    asked = {(SlaKind.THROUGHPUT_AT_LEAST, EnergyBasis.TOTAL): [2e8] * 2000}
    sla = Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=2e8)
    key = PartitionKey.of(sla)
    usual = find_serving_partition(grouped(solve_partitions(table))[key], sla, dataset_bytes=1e9)
    wanted = find_serving_partition(grouped(solve_partitions(table, requested=asked))[key], sla, dataset_bytes=1e9)
    exact = choose_setting(table, sla, dataset_bytes=1e9)

    def energy(setting):
        return math.exp(-predict_merit(setting, Quantity.ENERGY, EnergyBasis.TOTAL).mean)

    assert energy(wanted.setting) <= energy(usual.setting)
    assert energy(wanted.setting) <= 1.03 * energy(exact.setting)


SHIFTS = st.builds(LoadShift, st.floats(-3, 1), st.floats(-0.3, 0.3))


@settings(max_examples=60)
@given(tables(), SHIFTS)
def test_partitions_under_another_load_are_solved_there(table, shift):
    by_key = {
        key: shifted
        for key, parts in grouped(solve_partitions(table)).items()
        if None not in (shifted := [part.apply_shift(shift) for part in parts])
    }
    assert {key.energy_basis for key in by_key if key.kind is not SlaKind.MAX_THROUGHPUT} <= {EnergyBasis.TOTAL}
    there = table.apply_shift(shift)
    singles = {part.key: part for part in solve_partitions(there) if part.kind not in QUANTITY_OF}
    for key, parts in by_key.items():
        if key.kind not in QUANTITY_OF:
            again = (singles[key],)
        elif parts[0].lower == parts[-1].upper:
            continue
        else:
            again = solve_between(there, key, [parts[0].lower, *(part.upper for part in parts)])
        costs = there.compute_costs(there.choose_objective(key.kind), key.energy_basis)
        cost_of = dict(zip((each.parameters for each in there.settings), costs, strict=True))
        for one, other in zip(parts, again, strict=True):
            assert cost_of[one.parameters] == pytest.approx(cost_of[other.parameters], abs=1e-9)  # two may be equal
            assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), rel=1e-9)
            if one.parameters == other.parameters:
                assert one.probability == pytest.approx(other.probability, abs=1e-6)


@settings(max_examples=40)
@given(tables())
def test_tiers_are_few_and_wide_and_all_probabilities_share_their_round_bounds(table):
    for _, same in groupby(targeted(solve_partitions(table)).items(), key=lambda item: item[0][::2]):
        inner = set()
        for _, parts in same:
            assert len(parts) <= MAX_TIERS
            if len(parts) > 1:
                assert all(part.upper >= 1.1 * part.lower for part in parts)
            assert all(one.parameters != other.parameters for one, other in pairwise(parts))
            inner |= {part.upper for part in parts[:-1]}
        assert len(inner) < MAX_TIERS
        assert all(float(f"{bound:.3g}") == bound for bound in inner)


@settings(max_examples=60)
@given(tables(), SHIFTS)
def test_no_load_takes_certified_settings_below_the_base_power_unless_they_were_there(table, shift):
    bounded = table.limit_to_base_power(shift)
    assert bounded.log_throughput == shift.log_throughput
    floor = math.log(table.base_power_w)
    for before, after in zip(table.settings, table.apply_shift(bounded).settings, strict=True):
        if before.certified:
            assert after.log_power_mean >= min(floor, before.log_power_mean) - 1e-9
