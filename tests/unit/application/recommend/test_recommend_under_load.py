import json
import math
from dataclasses import replace
from uuid import UUID

import pytest

from services.application.recommend.model_cache import ModelCache
from services.application.recommend.served_model import AssumedLoad, LoadOrigin
from tests.unit.application.recommend.models import LINK, PATH, snapshot
from tests.unit.application.recommend.requests import HTML, LEARNED, VIDEO, answer, enquiry
from tradewind.dataset import ChunkKind, DataSet, SizeBin
from tradewind.load_effect import LoadEffect
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.wire.recommendations import WireTable

EFFECT = LoadEffect(loads=(0.1, 0.3, 0.7), log_throughput=(0.0, -0.25, -1.1), log_power=(0.0, -0.01, -0.04))
LOADED_LEAVES = tuple(replace(leaf, load_effect=EFFECT) for leaf in (HTML, VIDEO))
LOADED = snapshot(*LOADED_LEAVES)
MIXED = {
    "bins": (SizeBin(131_072, 300, 30_000_000), SizeBin(2**26, 4, 160_000_000)),
    "dataset": DataSet(file_count=304, total_bytes=190_000_000),
}


def mean_bps(load, learned=LOADED, **changes):
    return answer(enquiry(load=load, **changes), learned).recommendation.predicted.throughput_bps.mean


@pytest.mark.parametrize("kind", [SlaKind.MAX_THROUGHPUT, SlaKind.MIN_ENERGY])
def test_more_load_predicts_less_throughput(kind):
    assert mean_bps(0.6, kind=kind) / mean_bps(0.1, kind=kind) == pytest.approx(
        math.exp(EFFECT.interpolate_shift(0.6).log_throughput), rel=1e-6
    )


def test_all_chunks_together_stay_below_what_the_load_leaves():
    learned = snapshot(*LOADED_LEAVES, path=replace(PATH, bandwidth_bps=2e8))
    loads = (0.1, 0.3, 0.5, 0.7)
    rates = [mean_bps(load, learned, **MIXED) for load in loads]
    assert rates == sorted(rates, reverse=True)
    fastest = max(s.log_throughput_mean for leaf in LOADED_LEAVES for s in leaf.table.settings)
    for load, rate in zip(loads, rates, strict=True):
        ceiling = max(math.exp(fastest + EFFECT.interpolate_shift(load).log_throughput), 2e8 * (1 - load))
        assert rate <= ceiling * (1 + 1e-9)


def test_sla_met_on_an_idle_path_is_doubtful_on_a_busy_one():
    target = 0.8 * mean_bps(0.1)
    idle, busy = (
        answer(enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, target=target, load=load), LOADED).recommendation.sla
        for load in (0.1, 0.6)
    )
    assert idle.feasible
    assert idle.probability > 0.9
    assert not busy.feasible
    assert busy.probability < 0.1


def test_energy_rises_as_load_makes_a_transfer_last_longer():
    idle, busy = (
        answer(enquiry(kind=SlaKind.MIN_ENERGY, load=load), LOADED).recommendation.predicted.energy_j.mean
        for load in (0.1, 0.6)
    )
    shift = EFFECT.interpolate_shift(0.6)
    assert busy / idle == pytest.approx(math.exp(shift.log_power - shift.log_throughput), rel=1e-6)


def test_dynamic_energy_is_solved_on_the_shifted_lattice():
    sla = Sla(kind=SlaKind.MIN_ENERGY, energy_basis=EnergyBasis.DYNAMIC)
    made = answer(replace(enquiry(load=0.6), sla=sla), LOADED).recommendation
    shifted = LOADED_LEAVES[0].table.apply_shift(EFFECT.interpolate_shift(0.6))
    best = shifted.settings[shifted.order_by_cost(shifted.choose_objective(sla.kind), EnergyBasis.DYNAMIC)[0]]
    assert made.plan[0].parameters == best.parameters
    assert made.predicted.throughput_bps.low < math.exp(best.log_throughput_mean) < made.predicted.throughput_bps.high


def test_dynamic_energy_under_another_load_stays_in_its_tier():
    sla = Sla(kind=SlaKind.MIN_ENERGY, energy_basis=EnergyBasis.DYNAMIC)
    (total,) = (each for each in LOADED_LEAVES[0].partitions if each.kind is SlaKind.MIN_ENERGY)
    dynamic = replace(total, energy_basis=EnergyBasis.DYNAMIC)
    learned = snapshot(replace(LOADED_LEAVES[0], partitions=(dynamic,)))
    idle, busy = (answer(replace(enquiry(load=load), sla=sla), learned).recommendation.sla for load in (0.1, 0.6))
    assert idle.tier_id is not None
    assert (busy.tier_id, busy.tier) == (idle.tier_id, idle.tier)


def test_sent_table_is_shifted_to_the_load():
    def sent(load):
        made = answer(enquiry(load=load), LOADED).table_json[ChunkKind.SMALL]
        return WireTable.model_validate(json.loads(made)).to_table().predicted.settings

    for idle, busy in zip(sent(0.1), sent(0.6), strict=True):
        assert busy.parameters == idle.parameters
        shift = EFFECT.interpolate_shift(0.6)
        assert busy.log_throughput_mean - idle.log_throughput_mean == pytest.approx(shift.log_throughput, abs=1e-3)


def test_load_defaults_to_the_last_known_and_then_to_the_median():
    def served(**known):
        learned = snapshot(*LOADED_LEAVES)
        model_id = learned.index.models[LINK].id
        learned.model_cache.put(model_id, replace(learned.model_cache.get(model_id), **known))
        return answer(enquiry(), learned).recommendation

    assert "at load 0.40 (last known);" in served(unknown_bps=4e7).rationale
    assert served(unknown_bps=4e7).predicted.throughput_bps.mean == pytest.approx(mean_bps(0.4))
    assert "at load 0.20 (median);" in served(load_median=0.2).rationale
    assert served(load_median=0.2).predicted.throughput_bps.mean == pytest.approx(mean_bps(0.2))


def test_rationale_names_the_origin_of_the_load_and_what_logs_lack():
    assert "at load 0.30 (as asked);" in answer(enquiry(load=0.3), LOADED).recommendation.rationale
    assert "(as asked; no log saw more than 0.70)" in answer(enquiry(load=0.9), LOADED).recommendation.rationale
    assert "(as asked; its effect is in no log)" in answer(enquiry(load=0.3), LEARNED).recommendation.rationale


def test_shifted_leaves_are_cached_and_the_least_recently_used_evicted():
    model_cache = ModelCache(shifted=2)
    leaf, other = LOADED.get_model(LOADED.index.models[LINK]).leaves

    def under(each, share):
        return model_cache.apply_load(each, AssumedLoad(share, LoadOrigin.REQUESTED))

    first, second = under(leaf, 0.301), under(other, 0.3)
    assert first is not second
    assert under(leaf, 0.299) is first, "used again, and the same to a hundredth"
    under(leaf, 0.4)
    assert under(leaf, 0.3) is first
    assert under(other, 0.3) is not second, "given up for the third"


def test_shifted_leaves_are_evicted_with_their_model():
    model_cache, load = ModelCache(), AssumedLoad(0.3, LoadOrigin.REQUESTED)
    learned = (snapshot(*LOADED_LEAVES) for _ in range(2))
    models = {UUID(int=number): each.get_model(each.index.models[LINK]) for number, each in enumerate(learned, start=1)}
    for model_id, model in models.items():
        model_cache.put(model_id, model)
    shifted = {model_id: model_cache.apply_load(model.leaves[0], load) for model_id, model in models.items()}
    model_cache.evict({UUID(int=1), UUID(int=3)})
    assert not model_cache.has(UUID(int=1))
    assert model_cache.apply_load(models[UUID(int=1)].leaves[0], load) is not shifted[UUID(int=1)]
    assert model_cache.apply_load(models[UUID(int=2)].leaves[0], load) is shifted[UUID(int=2)]


def test_leaf_without_a_load_effect_is_the_same_under_any_load():
    leaf = LEARNED.get_model(LEARNED.index.models[LINK]).leaves[0]
    assert ModelCache().apply_load(leaf, AssumedLoad(0.8, LoadOrigin.REQUESTED)) is leaf
