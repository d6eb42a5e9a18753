"""The chart of what was moved draws joules a gigabyte only where all transfers were metered at the same ends."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest

from services.bootstrap import Container
from tests.integration.admin.test_overview import numbers
from tests.integration.admin.visitors import person, signed_in
from tests.records import ndjson, record
from tests.stack import Tenant

GB = 10**9
BOTH = ("source", "destination")


def moved(hours: int, ends: Sequence[str]) -> dict[str, Any]:
    """A transfer of 1 GB so many hours ago, that took 10 J at each of these ends."""
    started_at = datetime.now(UTC) - timedelta(hours=hours)
    known = record(started_at=started_at.isoformat(), ended_at=(started_at + timedelta(seconds=40)).isoformat())
    energy = [{"host": each, "total_j": 10.0, "method": "rapl", "quality": "measured"} for each in ends]
    return known | {"energy": energy}


@pytest.mark.parametrize("period", ["24h", "30d"])
@pytest.mark.parametrize(
    ("metered", "line", "words"),
    [
        ([("source",), ("source",)], "energy of the source alone, J/GB", "at the source alone"),
        ([BOTH, BOTH], "energy of both ends, J/GB", "at both ends"),
        ([("source",), BOTH], None, "metered at different ends"),
    ],
    ids=["source", "both", "different"],
)
def test_joules_a_gigabyte_are_of_equal_ends(
    parts: Container,
    api: str,
    tenant: Tenant,
    period: str,
    metered: Sequence[Sequence[str]],
    line: str | None,
    words: str,
) -> None:
    rows = [moved(2 + number, ends) for number, ends in enumerate(metered)]
    with tenant.client(api) as client:
        client.post("/v1/logs", content=ndjson(rows)).raise_for_status()
    with signed_in(api, person(parts, tenant, "analyst")) as visitor:
        page = visitor.get(f"/admin?range={period}").text
    found = re.search(r"data-chart=(['\"])(.*?)\1", page)
    assert found is not None
    energy = json.loads(unescape(found[2]))["series"][1]
    drawn = {value for value in energy["data"] if value is not None}
    assert (energy["name"], len(drawn)) == (line or "energy, J/GB", 0 if line is None else 1)
    assert numbers(page)["Energy"].endswith(f"for 2 GB, {words}")
