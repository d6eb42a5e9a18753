"""Records through COPY: any text and any number comes back as it was."""

import json
from datetime import UTC, datetime
from uuid import UUID, uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from services.application.logs.rows import AcceptedRow, KnownLink
from services.persistence.bulk_copy import COLUMNS
from tests.records import record
from tests.stack import Tenant
from tradewind.wire.records import HIGHEST_QUANTITY, parse_row

LINK = KnownLink(UUID(int=1))
names = st.text(st.characters(codec="utf-8", min_codepoint=32), min_size=1, max_size=50)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=80)
positive = st.floats(min_value=5e-324, max_value=HIGHEST_QUANTITY)
counts = st.integers(0, 2**63 - 1)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(names, texts, texts, positive, counts), min_size=1, max_size=5))
def test_any_text_and_number_comes_back_as_it_was(tenant: Tenant, rows: list[tuple[str, str, str, float, int]]) -> None:
    lines = [
        json.dumps(
            record(
                n,
                protocol=name,
                mover={"name": "m", "version": name},
                sla=sla,
                quote=quote,
                parameters={"disk_bps": number, "nic_bps": number},
                dataset={"file_count": 1, "total_bytes": count, "sd_file_bytes": number},
            )
        ).encode()
        for n, (name, sla, quote, number, count) in enumerate(rows)
    ]
    accepted = [AcceptedRow(n, parse_row(line), LINK) for n, line in enumerate(lines)]
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        block = uow.transfers.render(accepted, batch_id=uuid4(), received_at=datetime.now(UTC))
        assert uow.transfers.store(block).result() == set()
        query = text(
            "SELECT protocol, mover_version, sla, quote, disk_bps, nic_bps, total_bytes, sd_file_bytes"
            " FROM transfer_logs ORDER BY started_at"
        )
        found = [tuple(row) for row in uow.connection.execute(query)]
    assert found == [
        (name, name, sla, quote, number, number, count, number) for name, sla, quote, number, count in rows
    ]


def test_a_line_has_one_field_a_column(tenant: Tenant) -> None:
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        row = AcceptedRow(1, parse_row(json.dumps(record()).encode()), LINK)
        (line,) = uow.transfers.render([row], batch_id=uuid4(), received_at=datetime.now(UTC)).lines
    assert line.count(b",") == len(COLUMNS)
