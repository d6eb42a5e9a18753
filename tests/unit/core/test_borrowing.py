import math
from dataclasses import replace
from itertools import product

import pytest

from tests.unit.application.recommend.models import LATTICE, PATH, leaf_model
from tradewind.dataset import DataSet
from tradewind.model import LeafModel
from tradewind.parameters import Caps, Lattice, Parameters
from tradewind.prediction import PredictedSetting
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.selection import choose_setting
from tradewind.tiers.setting_table import SettingTable
from tradewind.unknown_path import prior
from tradewind.unknown_path.borrowing import BEST, GRID, LendableSettings, Lender, borrow_table

LEAF = leaf_model(300, 100_000)
HTML = DataSet(file_count=300, total_bytes=30_000_000)
LARGER = DataSet(file_count=100, total_bytes=40_000_000)


def lender(leaf: LeafModel = LEAF, *, weight: float = 1.0, faster: float = 0.0) -> Lender:
    """A leaf whose logs say ``faster`` more (log scale) than they did."""
    settings = tuple(
        replace(each, log_throughput_mean=each.log_throughput_mean + faster) for each in leaf.table.settings
    )
    leaf = replace(leaf, table=SettingTable(settings, leaf.table.base_power_w))
    return Lender(leaf, LendableSettings.of(leaf, leaf.build_compact_table()), PATH, weight)


def at(table: SettingTable, parameters: Parameters) -> PredictedSetting:
    return next(each for each in table.settings if each.parameters == parameters)


@pytest.mark.parametrize("parameters", list(LATTICE.list_settings())[::7], ids=str)
def test_a_neighbour_lends_its_residual_and_the_interval_widens(parameters):
    theirs = at(LEAF.table, parameters)
    residual = theirs.log_throughput_mean - 0.5 - math.log(prior.predict_throughput_bps(PATH, HTML, parameters, 0.1))
    made = at(borrow_table([lender(faster=-0.5)], PATH, LARGER, 0.0), parameters)
    here = math.log(prior.predict_throughput_bps(PATH, LARGER, parameters))
    assert made.log_throughput_mean == pytest.approx(residual + here)
    assert made.log_throughput_sd > max(theirs.log_throughput_sd, prior.PRIOR_LOG_SD / 2)
    assert made.log_power_mean == pytest.approx(theirs.log_power_mean)
    assert not made.certified


def test_neighbours_count_by_their_weight_and_widen_the_interval_by_their_disagreement():
    setting = Parameters(concurrency=8, parallelism=1, pipelining=4)

    def made(*lenders):
        return at(borrow_table(lenders, PATH, HTML, 0.0), setting)

    slow, fast = lender(weight=3.0, faster=-0.4), lender(faster=0.4)
    assert made(slow, fast).log_throughput_mean == pytest.approx(
        0.75 * made(slow).log_throughput_mean + 0.25 * made(fast).log_throughput_mean
    )
    assert made(slow, fast).log_throughput_sd > made(slow).log_throughput_sd


def test_only_what_a_neighbour_certifies_is_borrowed():
    certified = tuple(replace(each, certified=n % 3 == 0) for n, each in enumerate(LEAF.table.settings))
    sure = {each.parameters for each in certified if each.certified}
    partly = replace(LEAF, table=SettingTable(certified, 12.0))
    assert {each.parameters for each in borrow_table([lender(partly)], PATH, HTML, 0.0).settings} == sure
    none = replace(LEAF, table=SettingTable(tuple(replace(each, certified=False) for each in certified), 12.0))
    assert borrow_table([lender(none)], PATH, HTML, 0.0).settings == ()
    assert {each.parameters for each in borrow_table([lender(none), lender(partly)], PATH, HTML, 0.0).settings} == sure


def test_few_settings_of_a_large_lattice_are_tried_and_the_pick_among_them_is_nearly_as_good():
    leaf = large_leaf()
    lent = LendableSettings.of(leaf, leaf.build_compact_table())
    everything = replace(lent, candidates=tuple(each.parameters for each in leaf.table.settings))
    assert len(lent.candidates) <= BEST + GRID < len(everything.candidates) / 5
    for rtt_s, mean_bytes, streams in product((0.02, 0.06, 0.15), (40_000, 100_000, 400_000), (4, 16, 64)):
        dataset = DataSet(file_count=300, total_bytes=300 * mean_bytes)
        of_few, of_all = (
            choose_setting(
                borrow_table([Lender(leaf, lendable, PATH, 1.0)], replace(PATH, rtt_s=rtt_s), dataset, 0.0),
                Sla(kind=SlaKind.MAX_THROUGHPUT),
                Caps(streams=streams),
                dataset_bytes=1.0,
            ).setting
            for lendable in (lent, everything)
        )
        assert of_few.log_throughput_mean >= of_all.log_throughput_mean - 0.05


def large_leaf() -> LeafModel:
    """As made by learning from many settings: its throughput follows the prior less a cost of each stream."""
    lattice = Lattice.spanning({"concurrency": (1, 32), "parallelism": (1, 8), "pipelining": (1, 64)})
    expected_bps = prior.build_throughput_model(PATH, HTML)
    settings = tuple(
        PredictedSetting(
            parameters=each,
            log_throughput_mean=math.log(expected_bps(each)) - 0.01 * each.streams,
            log_throughput_sd=0.1,
        )
        for each in lattice.list_settings()
    )
    return replace(LEAF, lattice=lattice, table=SettingTable(settings))
