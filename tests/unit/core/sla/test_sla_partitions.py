from dataclasses import replace

import pytest

from tradewind.parameters import Parameters
from tradewind.prediction import PredictedSetting
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.partitions import (
    Partition,
    PartitionKey,
    find_serving_partition,
    format_tier_name,
    has_moved,
    match_partitions,
)


def partition(lower, upper, *, cc=1, closed=False, kind=SlaKind.THROUGHPUT_AT_LEAST, confidence=0.9):
    setting = PredictedSetting(parameters=Parameters(concurrency=cc), log_throughput_mean=20.0, log_throughput_sd=0.1)
    return Partition(
        kind=kind,
        confidence=confidence,
        energy_basis=EnergyBasis.TOTAL,
        lower=lower,
        upper=upper,
        closed=closed,
        setting=setting,
        probability=confidence,
        regret=0.0,
    )


RATES = (partition(1e8, 4e8, cc=2), partition(4e8, 8e8, cc=8), partition(8e8, 9e8, cc=32, closed=True))
ENERGIES = tuple(
    replace(part, kind=SlaKind.ENERGY_AT_MOST)
    for part in (
        partition(6e-7, 7.5e-7, cc=2),
        partition(7.5e-7, 8.5e-7, cc=8),
        partition(8.5e-7, 1e-6, cc=32, closed=True),
    )
)


def moved(match):
    return match.old is not None and has_moved(match.old, match.new)


@pytest.mark.parametrize(
    ("target", "cc"), [(1e6, 2), (1e8, 2), (4e8, 8), (7.9e8, 8), (8e8, 32), (9e8, 32), (9.1e8, None)]
)
def test_a_rate_is_served_by_its_half_open_range(target, cc):
    found = find_serving_partition(RATES, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=target), dataset_bytes=1e9)
    assert (found and found.parameters.concurrency) == cc


@pytest.mark.parametrize(("joules", "cc"), [(599, None), (600, 2), (750, 8), (850, 32), (1000, 32), (5000, 32)])
def test_an_energy_is_served_per_byte_of_the_data_set(joules, cc):
    found = find_serving_partition(ENERGIES, Sla(kind=SlaKind.ENERGY_AT_MOST, target=joules), dataset_bytes=1e9)
    assert (found and found.parameters.concurrency) == cc


def test_a_deadline_and_a_fraction_are_served_as_rates():
    deadline = Sla(kind=SlaKind.DEADLINE, target=16.0)
    assert PartitionKey.of(deadline) == RATES[0].key
    assert find_serving_partition(RATES, deadline, dataset_bytes=1e9) is RATES[1]
    assert (
        find_serving_partition(RATES, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=1.0), dataset_bytes=1e9)
        is RATES[2]
    )
    assert (
        find_serving_partition(RATES, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.3), dataset_bytes=1e9)
        is RATES[0]
    )


def test_a_kind_without_target_has_one_partition():
    only = partition(9e8, 9e8, closed=True, kind=SlaKind.MAX_THROUGHPUT)
    assert find_serving_partition([only], Sla(kind=SlaKind.MAX_THROUGHPUT), dataset_bytes=1e9) is only


def test_no_partition_serves_without_certified_settings():
    assert find_serving_partition((), Sla(kind=SlaKind.MAX_THROUGHPUT), dataset_bytes=1e9) is None


def test_tiers_are_continued_by_the_largest_overlap():
    others = (partition(1e8, 4.5e8), partition(4.5e8, 8.2e8), partition(8.2e8, 9e8, closed=True))
    matches = match_partitions(RATES, others)
    assert [match.old for match in matches] == list(RATES)
    assert all(map(moved, matches))


def test_tiers_that_hardly_move_keep_their_price_without_review():
    settled = tuple(replace(part, lower=part.lower * 1.005, upper=part.upper * 1.005) for part in RATES)
    assert not any(map(moved, match_partitions(RATES, settled)))


def test_one_tier_split_in_two_is_continued_once():
    split = (partition(1e8, 4e8), partition(4e8, 7e8), partition(7e8, 8e8), partition(8e8, 9e8, closed=True))
    assert [match.old for match in match_partitions(RATES, split)] == [RATES[0], RATES[1], None, RATES[2]]
    assert [moved(match) for match in match_partitions(RATES, split)] == [False, True, False, False]


def test_a_part_that_is_split_off_inherits_from_the_tier_that_most_of_it_was():
    split = (partition(1e8, 4e8), partition(4e8, 7e8), partition(7e8, 8e8), partition(8e8, 9e8, closed=True))
    assert [match.split_from for match in match_partitions(RATES, split)] == [None, None, RATES[1], None]


def test_newly_promised_targets_inherit_from_no_tier():
    beyond = (*RATES[:2], partition(8e8, 9.5e8), partition(9.5e8, 12e8, closed=True), partition(8.9e8, 12e8))
    assert [match.split_from for match in match_partitions(RATES, beyond)] == [None] * 5


def test_the_only_tier_of_a_key_is_continued_wherever_it_goes():
    before = partition(9e8, 9e8, closed=True, kind=SlaKind.MAX_THROUGHPUT)
    after = replace(before, lower=4e8, upper=4e8)
    (match,) = match_partitions([before], [after])
    assert match.old is before
    assert moved(match)


def test_tiers_of_another_confidence_or_kind_do_not_match():
    strangers = [replace(part, confidence=0.99) for part in RATES]
    assert all(match.old is None for match in match_partitions(RATES, [*strangers, *ENERGIES]))


def test_a_bound_that_is_nothing_but_rounding_is_called_nothing() -> None:
    tier = Partition(
        kind=SlaKind.ENERGY_AT_MOST,
        confidence=0.9,
        energy_basis=EnergyBasis.DYNAMIC,
        lower=-1.41e-21,
        upper=1e-7,
        closed=True,
        setting=PredictedSetting(
            parameters=Parameters(concurrency=1, parallelism=1), log_throughput_mean=18.0, log_throughput_sd=0.1
        ),
        probability=0.9,
        regret=0.0,
    )
    assert format_tier_name(tier) == "0 J/GB to 100 J/GB at 90% dynamic"
