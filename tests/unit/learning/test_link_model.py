"""From the log of a link to its model: streaming, tiers, metered ends, and what is left out."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from tradewind.energy.measured import Host
from tradewind.errors import CannotFit
from tradewind.learning.link import fit_link
from tradewind.learning.link_log import EndpointCurves, LinkLog, reduce_log
from tradewind.learning.load.known_load import LoadTimeline
from tradewind.parameters import AXES
from tradewind.sla.kinds import SlaKind


def law_bps(cc, p, pp, size):
    return np.minimum(8e8, cc * p * 4e7 * size / (size + 2e6 / np.maximum(pp, 1)))


def link_log(n: int, seed: int = 1, *, metered: bool = True) -> LinkLog:
    rng = np.random.default_rng(seed)
    cc, p, pp = rng.choice([1, 2, 4, 8, 16], n), rng.choice([1, 2, 4], n), rng.choice([1, 4, 16], n)
    size = np.exp(rng.choice([math.log(1e5), math.log(5e7)], n) + rng.normal(0, 0.05, n))
    throughput = law_bps(cc, p, pp, size) * np.exp(rng.normal(0, 0.08, n))
    count = rng.integers(80, 120, n).astype(float)
    start = np.sort(rng.uniform(0, 30 * 86400, n))
    unknown = np.full(n, np.nan)
    settings = np.full((n, len(AXES)), np.nan)
    settings[:, 0], settings[:, 1], settings[:, 2] = cc, p, pp
    return LinkLog(
        id_high=rng.integers(0, 2**63, n).astype(np.uint64),
        id_low=rng.integers(0, 2**63, n).astype(np.uint64),
        start_s=start,
        end_s=start + size * count * 8 / throughput,
        received_s=start + 86400,
        moved_bytes=size * count,
        throughput_bps=throughput,
        bandwidth_bps=np.full(n, 1e9),
        rtt_s=np.full(n, 0.06),
        min_rtt_s=np.full(n, 0.055),
        buffer_bytes=unknown,
        retransmitted_bytes=np.full(n, 1000.0),
        utilisation=unknown,
        mean_file_bytes=size,
        file_count=count,
        settings=settings,
        source_power_w=unknown,
        destination_power_w=20 + 0.3 * cc * p + throughput / 1e8 if metered else unknown,
        source_base_w=unknown,
        destination_base_w=np.full(n, 15.0) if metered else unknown,
    )


def rows(log: LinkLog, chosen) -> LinkLog:
    return LinkLog(**{f.name: getattr(log, f.name)[chosen] for f in fields(log)})


def curves(log: LinkLog) -> EndpointCurves:
    curve = LoadTimeline.of_transfers(log.start_s, log.end_s, log.moved_bytes)
    return EndpointCurves(curve, curve, curve)


def fit(log: LinkLog):
    return fit_link(reduce_log([log], curves(log)), np.random.default_rng(0))


@pytest.fixture(scope="module")
def log():
    return link_log(3000)


@pytest.fixture(scope="module")
def learned(log):
    return fit(log)


def test_path_round_trip_excludes_the_queues_of_its_transfers(log):
    unmeasured = replace(log, min_rtt_s=np.full(len(log), np.nan))
    assert reduce_log([log], curves(log)).rtt_s == pytest.approx(0.055)
    assert reduce_log([unmeasured], curves(log)).rtt_s == pytest.approx(0.06)


def test_small_and_large_files_become_leaves_of_their_own(learned):
    sizes = {round(leaf.leaf.log2_mean_file_bytes) for leaf in learned.leaves}
    assert sizes == {17, 26}
    assert sum(leaf.leaf.row_count for leaf in learned.leaves) == 3000
    assert learned.path.bandwidth_bps == 1e9
    assert learned.failures == ()


def test_each_leaf_is_judged_on_rows_held_out(learned):
    for leaf in learned.leaves:
        assert leaf.accuracy["throughput.accuracy"] > 0.8
        assert 0.8 < leaf.accuracy["throughput.coverage90"] <= 1


def test_the_surface_finds_the_law_that_made_the_rows(learned):
    for leaf in learned.leaves:
        size = 2.0**leaf.leaf.log2_mean_file_bytes
        certified = [s for s in leaf.table.settings if s.certified]
        assert certified
        for setting in certified:
            p = setting.parameters
            truth = float(law_bps(p.concurrency, p.parallelism, p.pipelining, size))
            assert math.exp(setting.log_throughput_mean) == pytest.approx(truth, rel=0.3)


def test_partitions_cover_every_kind_where_power_was_metered(learned):
    for leaf in learned.leaves:
        kinds = {partition.kind for partition in leaf.partitions}
        assert kinds == set(SlaKind) - {SlaKind.DEADLINE}
        assert leaf.table.base_power_w == pytest.approx(15.0)


def test_without_meters_only_throughput_is_promised():
    log = link_log(800, metered=False)
    learned = fit(log)
    kinds = {partition.kind for leaf in learned.leaves for partition in leaf.partitions}
    assert kinds == {SlaKind.MAX_THROUGHPUT, SlaKind.THROUGHPUT_AT_LEAST}


def test_rows_metered_at_one_end_are_not_mixed_with_rows_metered_at_both():
    log = link_log(800)
    both = np.arange(len(log)) % 10 == 0
    log = replace(log, source_power_w=np.where(both, 5000.0, np.nan))
    learned = fit(log)
    watts = [math.exp(s.log_power_mean) for leaf in learned.leaves for s in leaf.table.settings if s.certified]
    assert max(watts) < 100


def test_a_model_knows_which_ends_its_power_is_of_and_what_each_takes():
    one = fit(link_log(800))
    for leaf in one.leaves:
        assert set(leaf.power_by_end) == {Host.DESTINATION}
        assert leaf.power_by_end[Host.DESTINATION].base_w == pytest.approx(15.0)
    log = link_log(800)
    both = fit(replace(log, source_power_w=3 * log.destination_power_w, source_base_w=np.full(800, 45.0)))
    for leaf in both.leaves:
        source, destination = leaf.power_by_end[Host.SOURCE], leaf.power_by_end[Host.DESTINATION]
        assert (source.base_w, destination.base_w) == pytest.approx((45.0, 15.0))
        assert source.power_w == pytest.approx(3 * destination.power_w)
        assert leaf.table.base_power_w == pytest.approx(60.0)
        assert leaf.build_compact_table().power_by_end == leaf.power_by_end
    unmetered = fit(link_log(800, metered=False))
    assert all(leaf.power_by_end == {} for leaf in unmetered.leaves)


def test_the_base_power_of_one_end_is_not_that_of_both():
    log = link_log(800)
    learned = fit(replace(log, source_power_w=log.destination_power_w))
    for leaf in learned.leaves:
        assert leaf.table.base_power_w is None
        assert leaf.power_by_end[Host.SOURCE].base_w is None


def test_a_log_read_in_batches_gives_the_same_leaves(log, learned):
    thirds = [rows(log, slice(i, i + 1000)) for i in (0, 1000, 2000)]
    streamed = fit_link(reduce_log(thirds, curves(log)), np.random.default_rng(0))
    assert [leaf.leaf.row_count for leaf in streamed.leaves] == [leaf.leaf.row_count for leaf in learned.leaves]
    assert streamed.rows == learned.rows


def test_observed_settings_count_every_row(learned):
    for leaf in learned.leaves:
        assert sum(setting.rows for setting in leaf.observed) == leaf.leaf.row_count
        assert leaf.queueing_delay_p90_s
        assert leaf.queueing_delay_p90_s[1] == pytest.approx(0.005)


def test_load_of_others_shows_in_the_model_of_a_link():
    quiet = link_log(1200)
    others = np.where(np.arange(1200) // 50 % 2 == 0, 0.1, 0.6)
    throughput = np.minimum(quiet.throughput_bps, 1e9 * (1 - others))
    moved = np.full(1200, 5e9)
    busy = replace(
        quiet,
        throughput_bps=throughput,
        moved_bytes=moved,
        mean_file_bytes=moved / quiet.file_count,
        end_s=quiet.start_s + 8 * moved / throughput,
    )
    learned = fit(busy)
    effects = [leaf.load_effect for leaf in learned.leaves]
    assert all(effects)
    assert learned.unknown_bps is not None
    for leaf, effect in zip(learned.leaves, effects, strict=True):
        assert (
            effect.interpolate_shift(effect.loads[-1]).log_throughput
            < effect.interpolate_shift(effect.loads[0]).log_throughput
        )
        assert leaf.compute_shift(0.0) == leaf.compute_shift(effect.loads[0]), (
            "nothing is told of loads that no row saw"
        )


def test_a_link_whose_settings_never_vary_says_why_it_has_no_model():
    log = link_log(200)
    constant = np.full_like(log.settings, np.nan)
    constant[:, :3] = (4, 1, 1)
    log = replace(log, settings=constant)
    with pytest.raises(CannotFit, match="vary at least one parameter"):
        fit(log)


def test_link_with_little_history_still_separates_small_files_from_large_ones():
    learned = fit(link_log(60))
    assert len(learned.leaves) == 2


def test_a_link_without_rows_says_so():
    empty = rows(link_log(10), slice(0, 0))
    with pytest.raises(CannotFit):
        reduce_log([], curves(empty))


@pytest.mark.parametrize("axis", ["io_block_bytes", "part_bytes"])
def test_one_size_of_all_rows_is_advised_to_nobody(log, axis):
    blocks = np.where(np.arange(3000) % 2, 65_536.0, 262_144.0)
    one, two = log.settings.copy(), log.settings.copy()
    one[::3, AXES.index(axis)], two[:, AXES.index(axis)] = 262_144.0, blocks
    known = [
        {
            getattr(entry.parameters, axis)
            for leaf in fit(replace(log, settings=settings)).leaves
            for entry in leaf.table.settings
        }
        for settings in (one, two)
    ]
    assert known == [{None}, {65_536, 262_144}]
