"""Why a link has no model, in words: held to what a fit really says."""

import numpy as np
import pytest

from services.admin.formatting.no_model import explain_no_model
from tests.unit.learning.made_leaves import noisy_leaf
from tradewind.errors import CannotFit
from tradewind.learning.leaf import fit_leaf
from tradewind.learning.validation import validate_leaf


def refusal(rows: int) -> str:
    few = noisy_leaf().take(np.arange(0, 648, 648 // rows)[:rows])
    with pytest.raises(CannotFit) as refused:
        validate_leaf(few, fit_leaf(few), np.random.default_rng(1))
    return str(refused.value)


@pytest.mark.parametrize(("rows", "needed"), [(5, 8), (12, 20)])
def test_logs_present_and_needed_are_those_that_the_fit_counts(rows: int, needed: int) -> None:
    explanation = explain_no_model(f"data sets near 10 files of 1158563 bytes: {refusal(rows)}")
    assert (explanation.there, explanation.needed, explanation.missing) == (rows, needed, needed - rows)
    assert explanation.reason.startswith("data sets near 10 files of 1.16 MB: ")


def test_data_set_nearest_to_a_model_is_reported() -> None:
    explanation = explain_no_model(f"a: {refusal(12)}; b: {refusal(18)}")
    assert (explanation.there, explanation.needed) == (18, 20)


def test_any_other_reason_is_reported_unchanged() -> None:
    assert explain_no_model("all rows are alike") == ("all rows are alike", None, None)
