from dataclasses import replace

import pytest

from services.application.models.gate import (
    ACCURACY,
    COMPARED_ROWS,
    COVERAGE,
    ERROR,
    ERROR_OF_CURRENT,
    GROWTH_SD,
    HELD_OUT_ROWS,
    judge_fit,
)
from tests.unit.application.recommend.models import PATH, leaf_model
from tradewind.model import LeafModel, LinkModel


def leaf(accuracy: float = 0.8, coverage: float = 0.9, rows: int = 100, **compared: float) -> LeafModel:
    figures = {ACCURACY: accuracy, COVERAGE: coverage, HELD_OUT_ROWS: float(rows)}
    return replace(leaf_model(300, 100_000), accuracy=figures | compared)


def compared(error: float, error_of_current: float, *, rows: int = 100, growth_sd: float = 0.01) -> LeafModel:
    return leaf(**{COMPARED_ROWS: rows, ERROR: error, ERROR_OF_CURRENT: error_of_current, GROWTH_SD: growth_sd})


def model(*leaves: LeafModel) -> LinkModel:
    return LinkModel(path=PATH, leaves=leaves, rows=500, load_median=0.0)


def test_a_good_first_model_passes():
    verdict = judge_fit(model(leaf()))
    assert verdict.passed
    assert (verdict.compared_rows, verdict.error, verdict.error_of_current) == (0, None, None)


def test_leaves_count_by_the_rows_that_they_were_judged_on():
    verdict = judge_fit(model(leaf(0.9, 0.9, 300), leaf(0.5, 0.7, 100)))
    assert verdict.accuracy == pytest.approx(0.8)
    assert verdict.coverage90 == pytest.approx(0.85)
    verdict = judge_fit(model(leaf(), compared(0.1, 0.2, rows=30), compared(0.3, 0.4, rows=10)))
    assert (verdict.held_out_rows, verdict.compared_rows) == (300, 40)
    assert (verdict.error, verdict.error_of_current) == (pytest.approx(0.15), pytest.approx(0.25))


def test_one_row_that_ruins_the_accuracy_does_not_refuse_a_model():
    assert judge_fit(model(leaf(accuracy=-5.0))).passed


@pytest.mark.parametrize(
    ("coverage", "rows", "passed"), [(0.79, 10_000, False), (0.79, 100, True), (0.70, 100, False), (0.70, 25, True)]
)
def test_an_interval_that_misses_is_refused_unless_few_rows_may_do_so_by_chance(coverage, rows, passed):
    verdict = judge_fit(model(leaf(coverage=coverage, rows=rows)))
    assert verdict.passed == passed
    assert passed or "90 % band" in verdict.reasons[0]


def test_model_with_larger_error_than_the_current_one_is_refused_with_both_metrics():
    verdict = judge_fit(model(compared(0.25, 0.10, rows=40)))
    assert verdict.reasons == ("errs by 25% on 40 new rows, the current model by 10%",)


@pytest.mark.parametrize(
    "leaves",
    [
        [compared(0.14, 0.10)],  # within what a trial on fewer rows may lose
        [compared(0.25, 0.10, growth_sd=0.06)],  # within chance
        [compared(0.25, 0.10, rows=10), compared(0.10, 0.20, rows=100)],  # better where most rows are
    ],
)
def test_a_refit_may_be_worse_within_chance_and_for_few_rows(leaves):
    assert judge_fit(model(*leaves)).passed
