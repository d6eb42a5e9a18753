"""What a path carries at most, or a user permits, bounds predictions, promises and tables, and rationales say so."""

import json
import math
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.unit.application.recommend.models import EMPTY_SNAPSHOT, PATH, leaf_model, snapshot
from tests.unit.application.recommend.requests import HTML, VIDEO, answer, enquiry
from tradewind.model import LeafModel
from tradewind.path import Path
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, Sla, SlaKind
from tradewind.tiers.partitions import Partition
from tradewind.tiers.selection import choose_setting
from tradewind.wire.recommendations import RecommendRequest

NARROW = snapshot(HTML, VIDEO, path=replace(PATH, bandwidth_bps=3e7))
"""Its logs tell of more than its path carries."""


ROUNDED = 1e-3
"""Relative; logarithms go out with few digits."""


def fastest_bps(offer) -> float:
    """The most that any setting of the tables is expected to carry."""
    tables = [json.loads(table)["settings"] for table in offer.table_json.values()]
    return max(math.exp(each["log_throughput_mean"]) for table in tables for each in table)


def streams(offer) -> int:
    return sum(each.parameters.streams for each in offer.recommendation.plan)


def test_a_table_expects_no_more_than_the_path_carries():
    offer = answer(enquiry(), NARROW)
    assert fastest_bps(answer(enquiry())) > 3e7
    assert fastest_bps(offer) == pytest.approx(3e7, rel=ROUNDED)
    assert offer.recommendation.predicted.throughput_bps.mean <= 3e7
    assert "the path carries 30 Mbit/s" in offer.recommendation.rationale


@pytest.mark.parametrize("learned", [None, EMPTY_SNAPSHOT], ids=["learned", "unseen"])
def test_a_users_limit_bounds_prediction_and_tables(learned):
    where = () if learned is None else (learned,)
    limited = answer(enquiry(path=PATH, rate_limit_bps=1e7), *where)
    assert limited.recommendation.predicted.throughput_bps.high <= 1e7
    assert fastest_bps(limited) <= 1e7 * (1 + ROUNDED)
    assert "limited to 10 Mbit/s by its user" in limited.recommendation.rationale


def test_no_streams_are_opened_that_a_users_limit_leaves_nothing_for():
    assert streams(answer(enquiry(rate_limit_bps=1e7))) < streams(answer(enquiry()))


def test_a_limit_above_what_the_path_carries_changes_nothing():
    free, limited = answer(enquiry(path=PATH)), answer(enquiry(path=PATH, rate_limit_bps=1e10))
    assert limited.recommendation.plan == free.recommendation.plan
    assert limited.recommendation.predicted == free.recommendation.predicted
    assert limited.recommendation.rationale == free.recommendation.rationale


@pytest.mark.parametrize("known", [{"rate_limit_bps": 1e7}, {"path": Path(bandwidth_bps=1e7)}], ids=["user", "path"])
def test_more_than_the_ceiling_is_not_promised(known):
    made = answer(enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, target=2e7, **known)).recommendation
    assert not made.sla.feasible
    assert made.sla.probability == 0.0


def tiered(model: LeafModel) -> LeafModel:
    """The model with four tiers of throughput, solved beforehand on its table as it is."""
    top_bps = model.table.find_certifiable_throughput_bps(DEFAULT_CONFIDENCE)
    kind = SlaKind.THROUGHPUT_AT_LEAST
    tiers = []
    for lower, upper in pairwise((0.0, 0.25 * top_bps, 0.5 * top_bps, 0.75 * top_bps, top_bps)):
        choice = choose_setting(model.table, Sla(kind=kind, target=upper), dataset_bytes=3e7)
        tier = {"lower": lower, "upper": upper, "closed": upper == top_bps, "setting": choice.setting}
        basis = {"kind": kind, "confidence": DEFAULT_CONFIDENCE, "energy_basis": EnergyBasis.TOTAL}
        tiers.append(Partition(**basis, **tier, probability=choice.probability, regret=0.0))
    return replace(model, partitions=(*model.partitions, *tiers))


@pytest.mark.parametrize("told", [True, False], ids=["request", "logs"])
def test_a_share_of_the_maximum_is_one_of_what_the_path_carries(told):
    model, narrow = tiered(leaf_model(300, 100_000, powered=False)), replace(PATH, bandwidth_bps=3e7)
    learned = snapshot(model, path=PATH if told else narrow)
    changes = {"path": narrow} if told else {}
    half, same, more = (
        answer(enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, **asked, **changes), learned)
        for asked in (
            {"fraction": 0.5},
            {"target": 0.5 * model.table.limit_throughputs(3e7).find_certifiable_throughput_bps(DEFAULT_CONFIDENCE)},
            {"target": 0.5 * model.table.find_certifiable_throughput_bps(DEFAULT_CONFIDENCE)},
        )
    )
    assert half.recommendation.sla.feasible
    assert half.recommendation.plan == same.recommendation.plan
    assert streams(half) < streams(more)


def test_the_limit_of_a_request_is_no_cap_on_settings():
    asked = RecommendRequest.model_validate(
        {
            "source": "a",
            "destination": "b",
            "dataset": {"file_count": 1, "total_bytes": 10},
            "sla": {"kind": "max_throughput"},
            "limits": {"throughput_bps": 2e7, "streams": 4},
        }
    )
    assert asked.rate_limit_bps == 2e7
    assert asked.limits.to_caps().streams == 4
