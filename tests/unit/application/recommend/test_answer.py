import json
import math
import re
from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.application.recommend.answer import MAX_DOUBLINGS
from services.application.recommend.model_cache import ModelCache, NotInMemory
from services.application.recommend.neighbours import OTHER_MOVER_DISTANCE
from services.application.recommend.snapshot import Index, Snapshot
from tests.unit.application.recommend.models import EMPTY_SNAPSHOT, LINK, PATH, leaf_model, snapshot
from tests.unit.application.recommend.requests import HTML, LEARNED, VIDEO, answer, enquiry
from tradewind.dataset import ChunkKind, DataSet, SizeBin, split_by_bdp
from tradewind.heuristics import MAX_CHANNELS
from tradewind.parameters import Caps, Lattice
from tradewind.path import Path
from tradewind.recommendation import AnswerSource
from tradewind.shared_pipe import compute_shared_duration_s
from tradewind.sla.kinds import SlaKind
from tradewind.transfer import LinkKey
from tradewind.wire.recommendations import WireTable


def test_a_known_link_is_answered_from_the_release():
    made = answer(enquiry()).recommendation
    assert made.source is AnswerSource.RELEASE
    assert made.release == 7
    assert made.sla.tier == "max throughput at 90%"
    assert made.sla.feasible
    fastest = max(HTML.table.settings, key=lambda s: s.log_throughput_mean)
    assert made.plan[0].parameters == fastest.parameters
    assert (
        made.predicted.throughput_bps.low < math.exp(fastest.log_throughput_mean) < made.predicted.throughput_bps.high
    )
    assert "release 7" in made.rationale
    assert made.nearest_data_distance == pytest.approx(0)


def test_missing_model_is_requested_by_id():
    cold = replace(LEARNED, model_cache=ModelCache())
    with pytest.raises(NotInMemory) as missing:
        answer(enquiry(), cold)
    assert missing.value.model_ids == (LEARNED.index.models[LINK].id,)


def test_cache_evicts_the_least_recently_used_model():
    model = LEARNED.get_model(LEARNED.index.models[LINK])
    model_cache = ModelCache(capacity=2 * len(model.leaves))
    first, second, third = uuid4(), uuid4(), uuid4()
    model_cache.put(first, model)
    model_cache.put(second, model)
    model_cache.get(first)
    model_cache.put(third, model)
    assert model_cache.get(first) is model
    with pytest.raises(NotInMemory):
        model_cache.get(second)


def test_model_added_twice_takes_space_once():
    model = LEARNED.get_model(LEARNED.index.models[LINK])
    model_cache = ModelCache(capacity=2 * len(model.leaves))
    first, second = uuid4(), uuid4()
    for each in (first, second, second, second):
        model_cache.put(each, model)
    assert model_cache.get(first) is model_cache.get(second) is model


def test_model_larger_than_the_cache_is_cached_alone():
    model = LEARNED.get_model(LEARNED.index.models[LINK])
    model_cache = ModelCache(capacity=1)
    first, second = uuid4(), uuid4()
    model_cache.put(first, model)
    model_cache.put(second, replace(model, leaves=2 * model.leaves))
    assert len(model_cache.get(second).leaves) == 2 * len(model.leaves)
    assert not model_cache.has(first)


def test_an_alias_leads_to_the_same_link():
    alias = LINK._replace(source="origin.example.org")
    assert answer(enquiry(link=alias)).recommendation.source is AnswerSource.RELEASE


def test_small_and_large_files_get_plans_of_their_own():
    bins = (SizeBin(131_072, 300, 30_000_000), SizeBin(2**26, 4, 160_000_000))
    dataset = DataSet(file_count=304, total_bytes=190_000_000)
    offer = answer(enquiry(bins=bins, dataset=dataset))
    small, large = offer.recommendation.plan
    assert (small.chunk, large.chunk) == (ChunkKind.SMALL, ChunkKind.LARGE)
    assert small.max_file_bytes == int(PATH.bdp_bytes)
    assert large.max_file_bytes is None
    assert small.parameters.pipelining > large.parameters.pipelining
    assert large.parameters.concurrency <= 4
    assert set(offer.table_json) == {ChunkKind.SMALL, ChunkKind.LARGE}
    assert offer.recommendation.predicted.throughput_bps.mean <= PATH.bandwidth_bps


def test_sent_table_can_be_read_back():
    offer = answer(enquiry())
    table = WireTable.model_validate(json.loads(offer.table_json[ChunkKind.SMALL])).to_table()
    assert 10 <= len(table.predicted.settings) <= 48
    assert max(s.log_throughput_mean for s in table.predicted.settings) == pytest.approx(
        max(s.log_throughput_mean for s in HTML.table.settings), abs=1e-4
    )


@settings(deadline=None, max_examples=50)
@given(
    st.sampled_from([SlaKind.MAX_THROUGHPUT, SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY]),
    st.integers(min_value=1, max_value=20),
    st.integers(min_value=1, max_value=20),
    st.sampled_from([LEARNED, EMPTY_SNAPSHOT]),
)
def test_no_answer_exceeds_its_caps(kind, files, streams, learned):
    caps = Caps(concurrency=files, streams=streams)
    bins = (SizeBin(131_072, 300, 30_000_000), SizeBin(2**26, 4, 160_000_000))
    dataset = DataSet(file_count=304, total_bytes=190_000_000)
    plan = answer(enquiry(kind=kind, caps=caps, bins=bins, dataset=dataset, path=PATH), learned).recommendation.plan
    assert sum(each.parameters.concurrency for each in plan) <= files
    assert sum(each.parameters.streams for each in plan) <= streams


@pytest.mark.parametrize("learned", [LEARNED, EMPTY_SNAPSHOT])
def test_a_path_that_others_fill_is_answered_too(learned):
    made = answer(enquiry(path=PATH, load=1.0, link=LINK._replace(network="other")), learned).recommendation
    assert 0 < made.predicted.throughput_bps.mean < 0.1 * PATH.bandwidth_bps


def test_an_impossible_target_without_history_opens_no_more_channels_than_any_rule_may():
    asked = enquiry(
        count=10**6, mean=1_000, kind=SlaKind.DEADLINE, target=1e-300, path=Path(bandwidth_bps=1e9, rtt_s=0.05)
    )
    made = answer(asked, EMPTY_SNAPSHOT).recommendation
    assert made.plan[0].parameters.concurrency <= MAX_CHANNELS
    assert made.sla.probability == 0


def test_a_capped_request_is_solved_again_not_clamped():
    made = answer(enquiry(caps=Caps(streams=4))).recommendation
    allowed = [s for s in HTML.table.settings if s.parameters.streams <= 4]
    best = max(allowed, key=lambda s: s.log_throughput_mean)
    assert made.plan[0].parameters == best.parameters
    assert made.sla.tier == "max throughput at 90%"  # its promise is the same: the most of what is permitted


def test_impossible_sla_gets_the_likeliest_setting_and_the_rationale_says_so():
    made = answer(enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, target=1e9)).recommendation
    assert not made.sla.feasible
    assert made.sla.probability < 0.01
    assert "cannot be certified" in made.rationale


def test_deadline_is_met_with_the_stated_probability():
    loose = answer(enquiry(kind=SlaKind.DEADLINE, target=60)).recommendation
    tight = answer(enquiry(kind=SlaKind.DEADLINE, target=3.0)).recommendation
    assert loose.sla.feasible
    assert loose.sla.probability >= 0.9
    assert loose.plan[0].parameters.streams <= tight.plan[0].parameters.streams


def test_unknown_path_borrows_from_a_similar_known_one():
    asked = enquiry(link=LinkKey("elsewhere", "laptop", None, "tradewind"), path=replace(PATH, rtt_s=0.07))
    made = answer(asked).recommendation
    assert made.source is AnswerSource.NEIGHBOUR
    assert not made.sla.feasible
    assert "origin → laptop" in made.rationale
    assert 0 < made.nearest_data_distance < 1


def test_the_same_path_with_another_mover_is_a_neighbour_that_counts_less_than_one_with_its_own():
    other = answer(enquiry(link=LINK._replace(mover="rclone"))).recommendation
    assert other.source is AnswerSource.NEIGHBOUR
    assert not other.sla.feasible
    assert "there is one for mover tradewind: use that mover" in other.rationale
    assert "nearest links (origin → laptop by tradewind)" in other.rationale
    assert "assuming" not in other.rationale
    own = answer(enquiry(link=LINK._replace(destination="elsewhere"), path=PATH)).recommendation
    assert other.nearest_data_distance == pytest.approx(own.nearest_data_distance + OTHER_MOVER_DISTANCE)
    widths = [made.predicted.throughput_bps.mean / made.predicted.throughput_bps.low for made in (other, own)]
    assert widths[0] > widths[1] * 1.1


def test_history_of_another_mover_outweighs_the_prior():
    slow = leaf_model(300, 100_000)
    settings = tuple(
        replace(setting, log_throughput_mean=setting.log_throughput_mean - 1) for setting in slow.table.settings
    )
    slow = replace(slow, table=replace(slow.table, settings=settings))
    request = enquiry(link=LINK._replace(mover="rclone"), path=PATH)
    rates = [
        answer(request, learned).recommendation.predicted.throughput_bps.mean for learned in (snapshot(slow), LEARNED)
    ]
    assert rates[0] < 0.5 * rates[1]


def _by_two_movers() -> tuple[LinkKey, Snapshot]:
    """A mover whose logs tell neither bandwidth nor round trip, beside one whose logs do."""
    silent = LINK._replace(mover="rclone")
    theirs = snapshot(HTML, VIDEO, key=silent, path=Path())
    both = Snapshot(Index(7, {**theirs.index.models, **LEARNED.index.models}, {}))
    for each in (theirs, LEARNED):
        for indexed in each.index.models.values():
            both.model_cache.put(indexed.id, each.get_model(indexed))
    return silent, both


MIXED = {
    "bins": (SizeBin(131_072, 300, 30_000_000), SizeBin(2**26, 16, 640_000_000)),
    "dataset": DataSet(file_count=316, total_bytes=670_000_000),
}
"""Pages and videos, each like those of the logs; together like none of them."""


def test_path_missing_in_a_movers_logs_is_taken_from_other_movers():
    silent, both = _by_two_movers()
    made = answer(enquiry(link=silent, **MIXED), both).recommendation
    assert made.source is AnswerSource.RELEASE
    assert [each.chunk for each in made.plan] == [ChunkKind.SMALL, ChunkKind.LARGE]


def test_distance_is_that_of_the_chunks_of_the_own_history():
    silent = LINK._replace(mover="rclone")
    learned = snapshot(HTML, VIDEO, key=silent, path=Path())
    made = answer(enquiry(link=silent, **MIXED), learned).recommendation
    assert made.source is not AnswerSource.RELEASE
    told = re.search(r"the data set is ([\d.]+) doublings away", made.rationale)
    assert told is not None
    assert float(told[1]) > MAX_DOUBLINGS


def test_another_mover_on_another_path_says_nothing():
    asked = enquiry(link=LINK._replace(mover="rclone", destination="elsewhere"), path=PATH)
    assert answer(asked).recommendation.source is AnswerSource.HEURISTIC


def test_mover_without_energy_does_not_answer_an_energy_sla():
    unmetered = snapshot(leaf_model(300, 100_000, powered=False))
    asked = enquiry(kind=SlaKind.MIN_ENERGY, link=LINK._replace(mover="rclone"))
    made = answer(asked, unmetered).recommendation
    assert made.source is AnswerSource.HEURISTIC
    assert "there is one for mover tradewind" in made.rationale
    assert "assuming" not in made.rationale


def test_caps_below_every_setting_seen_are_named_as_the_reason():
    narrow = leaf_model(300, 100_000)
    widest = narrow.table.settings[-1]
    lattice = Lattice({axis: (value,) for axis, value in widest.parameters.list_known().items()})
    wide = replace(narrow, lattice=lattice, table=replace(narrow.table, settings=(widest,)))
    made = answer(enquiry(caps=Caps(concurrency=1)), snapshot(wide)).recommendation
    assert made.source is not AnswerSource.RELEASE
    assert "the caps are below every setting" in made.rationale


@pytest.mark.parametrize("load", [None, 0.5])
def test_prediction_does_not_exceed_an_unknown_paths_bandwidth(load):
    made = answer(enquiry(path=Path(rtt_s=0.02), load=load), EMPTY_SNAPSHOT).recommendation
    rate = made.predicted.throughput_bps
    assert rate.low < rate.mean <= rate.high <= 1e9
    assert made.rationale.startswith("no model of this path yet, none to borrow from")


@pytest.mark.parametrize("kind", [SlaKind.MAX_THROUGHPUT, SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY])
def test_without_history_the_closed_form_rule_answers(kind):
    made = answer(enquiry(kind=kind, path=PATH), EMPTY_SNAPSHOT).recommendation
    assert made.source is AnswerSource.HEURISTIC
    assert made.release is None
    assert "closed-form" in made.rationale
    assert made.plan[0].parameters.concurrency > 1


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (SlaKind.THROUGHPUT_AT_LEAST, 5e7),
        (SlaKind.DEADLINE, 10.0),
        (SlaKind.ENERGY_AT_MOST, 100.0),
        (SlaKind.POWER_AT_MOST, 20.0),
    ],
)
def test_targets_without_history_are_never_promised(kind, target):
    made = answer(enquiry(kind=kind, target=target, path=PATH), EMPTY_SNAPSHOT).recommendation
    assert not made.sla.feasible
    assert 0 <= made.sla.probability < 1


def test_rationale_names_what_is_assumed_of_an_unknown_path():
    made = answer(enquiry(path=Path(rtt_s=0.02)), EMPTY_SNAPSHOT).recommendation
    assert "assuming bandwidth 1 Gbit/s" in made.rationale
    assert "RTT" not in made.rationale


def test_energy_sla_on_a_link_without_energy_falls_back_to_the_rule():
    unmetered = snapshot(leaf_model(300, 100_000, powered=False))
    made = answer(enquiry(kind=SlaKind.MIN_ENERGY), unmetered).recommendation
    assert made.source is AnswerSource.HEURISTIC
    assert made.predicted.energy_j is None
    assert "the logs of this path have no energy, which min_energy needs" in made.rationale


@pytest.mark.parametrize("target", [30e6, 60e6, 90e6, 120e6, 150e6])
def test_no_rate_is_promised_above_what_all_chunks_are_predicted_to_reach(target):
    bins = (SizeBin(131_072, 300, 30_000_000), SizeBin(2**26, 4, 160_000_000))
    dataset = DataSet(file_count=304, total_bytes=190_000_000)
    made = answer(enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, target=target, bins=bins, dataset=dataset)).recommendation
    if made.sla.feasible:
        assert target <= made.predicted.throughput_bps.mean
    if target > PATH.bandwidth_bps:
        assert not made.sla.feasible
        assert made.sla.probability < 0.5
    assert made.predicted.throughput_bps.high <= PATH.bandwidth_bps


def test_a_chunk_that_is_done_leaves_its_room_to_the_others():
    assert compute_shared_duration_s([10**6, 10**6], [8e6, 8e6], 8e6) == pytest.approx(2.0)
    assert compute_shared_duration_s([10**6, 9 * 10**6], [8e6, 8e6], 8e6) == pytest.approx(10.0)
    assert compute_shared_duration_s([10**6, 10**6], [8e6, 8e6], 1e9) == pytest.approx(1.0)
    assert compute_shared_duration_s([0, 10**6], [8e6, 8e6], 8e6) == pytest.approx(1.0)


@given(
    st.lists(st.tuples(st.integers(1, 10**10), st.floats(1e5, 1e10)), min_size=1, max_size=4),
    st.floats(1e6, 1e10),
)
def test_chunks_share_the_pipe_as_if_watched_step_by_step(chunks, ceiling_bps):
    left_bits, taken_s = {i: 8.0 * size for i, (size, _) in enumerate(chunks)}, 0.0
    while left_bits:
        scale = min(1.0, ceiling_bps / sum(chunks[i][1] for i in left_bits))
        pace_bps = {i: scale * chunks[i][1] for i in left_bits}
        soonest = min(left_bits, key=lambda i: left_bits[i] / pace_bps[i])
        step_s = left_bits.pop(soonest) / pace_bps[soonest]
        left_bits = {i: bits - step_s * pace_bps[i] for i, bits in left_bits.items()}
        taken_s += step_s
    sizes, rates = zip(*chunks, strict=True)
    assert compute_shared_duration_s(sizes, rates, ceiling_bps) == pytest.approx(taken_s, rel=1e-6)


def test_a_data_set_of_one_size_class_is_its_own_chunk():
    asked = enquiry()
    (chunk,) = asked.split_into_chunks(PATH)
    assert chunk.dataset is asked.dataset
    assert (chunk,) == split_by_bdp(asked.bins, PATH.bdp_bytes)
