"""The chart of a page's connections over time, beside its table."""

from types import SimpleNamespace

import pytest

from services.admin.charts.connections import build_connection_chart


def _page(*durations_s: float | None, load_s: float = 0.01) -> SimpleNamespace:
    return SimpleNamespace(load_s=load_s, load_told=True, connections=[_connection(each) for each in durations_s])


def _connection(duration_s: float | None, *, encrypted: bool = True, http: str = "HTTP/1.1") -> SimpleNamespace:
    return SimpleNamespace(duration_s=duration_s, opened_s=0.0, encrypted=encrypted, http_version=http)


def test_a_connection_has_the_number_that_the_table_gives_it():
    assert build_connection_chart(_page(None, 0.02, None, 0.03), most=30)["yAxis"]["data"] == ["2", "4"]
    assert build_connection_chart(_page(None, 0.02, None, 0.03), most=1)["yAxis"]["data"] == ["2"]


@pytest.mark.parametrize("last_s", [0.101, 0.97, 1.01, 1.019, 9.9, 10.1, 123.0])
def test_the_axis_ends_after_what_comes_last(last_s):
    assert last_s < build_connection_chart(_page(last_s), most=30)["xAxis"]["max"] <= 1.2 * last_s


@pytest.mark.parametrize("last_s", [0.0, 5e-324, 1e-300])
def test_a_log_without_time_has_an_axis(last_s):
    assert build_connection_chart(_page(last_s, load_s=last_s), most=30)["xAxis"]["max"] == 1.0


def test_legend_names_the_protocol_of_each_connection():
    page = _page(0.1)
    page.connections += [_connection(0.2, encrypted=False), _connection(0.3, http="HTTP/2")]
    chart = build_connection_chart(page, most=30)
    assert chart["legend"]["data"] == ["encrypted", "plain", "HTTP/2"]
    drawn = {each["name"]: each["data"] for each in chart["series"][1:]}
    assert drawn == {"encrypted": [0.1, None, None], "plain": [None, 0.2, None], "HTTP/2": [None, None, 0.3]}
