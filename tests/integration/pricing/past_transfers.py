"""Transfers of months that are over: quoted, logged and judged, at amounts that a test chooses."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg

from services.application.billing.quote_consumer import StoredQuote
from services.application.billing.usage import Month
from tests.integration.pricing.test_customers import as_key, new_customer, new_key
from tests.records import ndjson, record
from tests.stack import Tenant
from tradewind.sla.kinds import EnergyBasis, SlaKind

THIS_MONTH = Month.of(datetime.now(UTC))
THIRD = THIS_MONTH.before
SECOND = THIRD.before
FIRST = SECOND.before
TIER_ID = uuid4()
CREDIT = Decimal("0.35")


@dataclass(frozen=True)
class Billed:
    """A customer with a key, whose transfers of any month are billed as a test says."""

    tenant: Tenant
    api: str
    admin_database_url: str
    customer: dict[str, Any]
    key: dict[str, Any]

    @classmethod
    def new(cls, tenant: Tenant, api: str, admin_database_url: str, **fields: Any) -> "Billed":
        with tenant.client(api) as provider:
            key = new_key(provider)
            return cls(tenant, api, admin_database_url, new_customer(provider, key, **fields), key)

    @property
    def id(self) -> UUID:
        return UUID(self.customer["id"])

    def move(
        self,
        month: Month,
        amount: str,
        *,
        kept: bool | None = True,
        currency: str = "EUR",
        day: int = 5,
        quoted_at: datetime | None = None,
    ) -> UUID:
        """Bill a transfer that began in a month, but in the past; a missed one is credited by ``CREDIT``."""
        usual_at, just_now = (
            month.begins_at + timedelta(days=day - 1, hours=3),
            datetime.now(UTC) - timedelta(minutes=2),
        )
        transfer_id, started_at = uuid4(), max(min(usual_at, just_now), month.begins_at)
        quote = StoredQuote(
            transfer_id=transfer_id,
            at=quoted_at or started_at - timedelta(minutes=1),
            key_id=UUID(self.key["id"]),
            link_id=uuid4(),
            tier_id=TIER_ID,
            book_id=uuid4(),
            amount=Decimal(amount),
            currency=currency,
            energy_basis=EnergyBasis.TOTAL,
            sla=SlaKind.THROUGHPUT_AT_LEAST,
            total_bytes=10**9,
            throughput_bps=2e8,
            energy_j=None,
            credit=CREDIT,
        )
        with self.tenant.parts.store.unit_of_work(self.tenant.id) as uow:
            uow.quotes.add([quote])
            uow.commit()
        if kept is not None:
            self._judge(transfer_id, started_at, kept=kept)
        self.log(transfer_id, started_at)
        return transfer_id

    def log(self, transfer_id: UUID, started_at: datetime) -> None:
        """Upload a record of a transfer that lasted a minute."""
        ended_at = started_at + timedelta(minutes=1)
        logged = record(transfer_id=str(transfer_id), started_at=started_at.isoformat(), ended_at=ended_at.isoformat())
        with as_key(self.api, self.key) as agent:
            agent.post("/v1/logs", content=ndjson([logged])).raise_for_status()

    def _judge(self, transfer_id: UUID, started_at: datetime, *, kept: bool) -> None:
        with psycopg.connect(self.admin_database_url) as admin:
            admin.execute(
                "INSERT INTO transfers (tenant_id, id, started_at, ended_at, status, source, destination, mover, "
                "key_id, file_count, total_bytes, sequence, journalled_sequence, bytes_moved, agreement_kept) "
                "VALUES (%s, %s, %s, %s, 'succeeded', 'alpha', 'omega', 'tradewind', %s, 10, 10^9, 1, 1, 10^9, %s)",
                [self.tenant.id, transfer_id, started_at, started_at, self.key["id"], kept],
            )

    def correct(self, transfer_id: UUID, *, amount: str | None = None, kept: bool | None = None) -> None:
        """Change the quote of a transfer, or whether it met its SLA, as an operator of the database would."""
        with psycopg.connect(self.admin_database_url) as admin:
            if amount is not None:
                admin.execute("UPDATE quotes SET amount = %s WHERE transfer_id = %s", [amount, transfer_id])
            if kept is not None:
                admin.execute("UPDATE transfers SET agreement_kept = %s WHERE id = %s", [kept, transfer_id])

    def issue(self, provider: httpx.Client, month: Month) -> httpx.Response:
        return provider.post("/v1/issued-statements", json={"customer_id": self.customer["id"], "month": str(month)})

    def read(self, provider: httpx.Client, month: Month) -> dict[str, Any]:
        answer = provider.get(f"/v1/customers/{self.id}/statement", params={"month": str(month)})
        made: dict[str, Any] = answer.raise_for_status().json()
        return made

    def read_file(self, provider: httpx.Client, month: Month) -> httpx.Response:
        return provider.get(f"/v1/customers/{self.id}/statement", params={"month": str(month), "format": "csv"})
