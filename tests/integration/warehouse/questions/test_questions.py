"""Each query of the page of questions gives what the same history gives in Python."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from services.application.access.authenticate import Scope
from services.application.billing.usage import Billing, Month
from tests.integration.warehouse.questions.answers import ANSWERS
from tests.integration.warehouse.questions.history import History
from tests.stack import Tenant

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "answer-questions-in-sql.md"
_QUESTION = re.compile(r"^## (\d+)\. [^\n]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_QUERY = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read_queries() -> Mapping[int, str]:
    """Return the one query of each question on the page."""
    queries = {}
    for number, text in _QUESTION.findall(PAGE.read_text(encoding="utf-8")):
        (queries[int(number)],) = _QUERY.findall(text)
    return queries


QUERIES = read_queries()


def test_page_has_fifteen_questions() -> None:
    assert sorted(QUERIES) == sorted(ANSWERS) == list(range(1, 16))


@pytest.mark.parametrize("number", QUERIES)
def test_query_gives_the_answer_that_python_computes(api: str, provider: Tenant, history: History, number: int) -> None:
    with provider.client(api, Scope.ANALYST) as client:
        answer = client.post("/v1/warehouse/query", json={"sql": QUERIES[number]})
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()["rows"]
    expected = [about(row) for row in ANSWERS[number](history)]
    assert len(expected) >= 2
    assert rows == expected


def about(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with numbers that equal those of another order of summing."""
    return {name: pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
            for name, value in row.items()}  # fmt: skip


def test_revenue_is_that_of_the_statements(api: str, provider: Tenant) -> None:
    with provider.client(api, Scope.ANALYST) as client:
        rows = client.post("/v1/warehouse/query", json={"sql": QUERIES[6]}).json()["rows"]
    for month in ("2026-02", "2026-03", "2026-04"):
        with provider.parts.store.unit_of_work(provider.id) as uow:
            lines = uow.usage.list_sums(Month.parse(month))
        billed = {line.key: line for line in lines if line.billing is Billing.BILLED}
        in_month = {row["customer"]: row for row in rows if row["month"] == month}
        assert billed.keys() == in_month.keys()
        for customer, line in billed.items():
            row = in_month[customer]
            assert (row["transfers"], row["credit"]) == (line.transfers, pytest.approx(float(line.credit)))
            assert row["amount"] == pytest.approx(float(line.amount or 0))
