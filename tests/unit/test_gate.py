from dataclasses import replace

import pytest

from services.application.gate import ACCURACY, COVERAGE, judge
from tests.unit.models import PATH, leaf_model
from tradewind.model import LinkModel


def model(*figures: tuple[float, float, int]) -> LinkModel:
    leaf = leaf_model(300, 100_000)
    leaves = tuple(
        replace(leaf, accuracy={ACCURACY: a, COVERAGE: c}, leaf=replace(leaf.leaf, row_count=n)) for a, c, n in figures
    )
    return LinkModel(path=PATH, leaves=leaves, rows=sum(n for _, _, n in figures), load_median=0.0)


def test_a_good_first_model_passes():
    assert judge(model((0.8, 0.9, 100)), None).passed


def test_leaves_count_by_their_rows():
    verdict = judge(model((0.9, 0.9, 300), (0.5, 0.7, 100)), None)
    assert verdict.accuracy == pytest.approx(0.8)
    assert verdict.coverage90 == pytest.approx(0.85)


@pytest.mark.parametrize(
    ("new", "before", "reason"),
    [
        (model((-0.1, 0.9, 100)), None, "accuracy -0.100 is below"),
        (model((0.8, 0.5, 100)), None, "90 % band"),
        (model((0.7, 0.9, 100)), model((0.8, 0.9, 100)), "worse than 0.800"),
    ],
)
def test_a_bad_model_is_refused_with_its_figures(new, before, reason):
    verdict = judge(new, before)
    assert not verdict.passed
    assert reason in verdict.reasons[0]


def test_a_refit_may_be_worse_within_the_noise_of_its_split():
    assert judge(model((0.77, 0.9, 100)), model((0.8, 0.9, 100))).passed
