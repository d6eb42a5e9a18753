"""Which columns of an answer a chart takes, and when it draws a line for each value of a text."""

import json
from typing import Any

import pytest

from services.admin.charts.query import MOST_LINES, ChartKind, ChartRequest, QueryChart, query_chart
from services.admin.formatting.query_rows import QueryRows

BY_LINK = [
    {"link": link, "files": files, "mbit_s": 10.0 * files + len(link)} for link in ("b", "aa") for files in (4, 1, 2)
]


def drawn(rows: list[dict[str, Any]], **asked: Any) -> QueryChart:
    found = query_chart(QueryRows.of_json(json.dumps({"rows": rows, "cut": False}).encode()), ChartRequest(**asked))
    assert found is not None
    return found


def lines(found: QueryChart) -> dict[str, list[tuple[Any, Any]]]:
    return {each["name"]: each["data"] for each in found.options["series"]}


def test_links_with_the_same_settings_are_lines_of_their_own() -> None:
    found = drawn(BY_LINK)
    assert lines(found) == {"aa": [(1, 12.0), (2, 22.0), (4, 42.0)], "b": [(1, 11.0), (2, 21.0), (4, 41.0)]}
    assert (found.across, found.up, found.apart) == ("files", ["mbit_s"], "link")
    assert found.options["yAxis"]["name"] == "mbit_s"


def test_times_of_several_links_are_not_joined_to_one_line() -> None:
    rows = [{"at": f"2026-11-2{day}", "link": link, "gb": day} for day in (1, 2) for link in ("a", "b")]
    assert set(lines(drawn(rows))) == {"a", "b"}
    assert set(lines(drawn(rows, across="at", up="gb", apart="link"))) == {"a", "b"}


def test_columns_can_be_chosen() -> None:
    found = drawn(BY_LINK, kind=ChartKind.SCATTER, across="mbit_s", up="files", apart="link")
    assert lines(found)["b"] == [(11.0, 1), (21.0, 2), (41.0, 4)]
    assert found.options["xAxis"]["name"] == "mbit_s"


@pytest.mark.parametrize("name", ["across", "up", "apart"])
def test_a_column_that_is_not_there_any_more_is_left_to_us(name: str) -> None:
    assert drawn(BY_LINK, **{name: "gone"}).options["series"]


def test_names_that_come_once_are_bars() -> None:
    found = drawn([{"link": "a", "gb": 1.0, "j": 2.0}, {"link": "b", "gb": 3.0, "j": 4.0}])
    assert found.options["series"][0]["type"] == "bar"


def test_most_frequent_values_are_drawn_and_the_others_counted() -> None:
    rows = [{"link": str(n), "files": files, "rate": files} for n in range(9) for files in range(1, 3 + n)]
    found = drawn(rows)
    assert len(lines(found)) == MOST_LINES
    assert found.left_out == 9 - MOST_LINES
    assert "8" in lines(found)


def test_rows_with_a_list_or_an_object_are_drawn() -> None:
    settings = [{"sequence": n, "rate": 2 * n, "settings": {"files": [n % 2]}} for n in range(4)]
    assert lines(drawn(settings))


def test_numbers_that_no_double_holds_are_not_drawn() -> None:
    found = drawn([{"name": name, "huge": 10**400, "gb": 1} for name in ("a", "b")])
    assert found.up == ["gb"]
