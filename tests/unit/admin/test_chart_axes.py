"""Axes and legends of charts: fitted to their values and to their width."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.admin.charts.style import build_chart, build_log_axis


@given(st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=20))
def test_a_logarithmic_axis_has_all_values_between_round_marks_near_them(values: list[float]) -> None:
    axis = build_log_axis("rate", values)
    marks = axis["axisLabel"]["customValues"]
    assert axis["min"] == marks[0] <= min(values) * (1 + 1e-6)
    assert axis["max"] == marks[-1] >= max(values) * (1 - 1e-6)
    assert 2 <= len(marks) == len(set(marks))
    if max(values) < 100 * min(values):
        assert axis["min"] >= min(values) / 2.6
        assert axis["max"] <= max(values) * 10


@pytest.mark.parametrize("values", [[], [0.0], [-1.0, math.inf]])
def test_a_logarithmic_axis_without_values_is_left_to_the_library(values: list[float]) -> None:
    assert "min" not in build_log_axis("rate", values)


def test_a_long_legend_takes_lines_where_it_has_no_room_in_one() -> None:
    chart = build_chart(legend=["the first of them", "the second of them", "the third of them"], series=[])
    narrow = next(each for each in chart["media"] if each["query"]["maxWidth"] < 500)["option"]
    assert narrow["legend"]["type"] == "plain"
    assert narrow["grid"]["top"] > chart["grid"]["top"]
    assert build_chart(legend=["a"], series=[])["media"] == []
