"""A provider whose rows a test changes in any order, as the service and its agents do."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import text

from services.application.billing.refresh_usage import RefreshUsage
from services.application.billing.usage import Holder, Month, UsageLine
from tests.stack import Tenant

MONTHS = (Month(2026, 5), Month(2026, 6), Month(2026, 7))
FIRST, DAYS = datetime(2026, 5, 1, tzinfo=UTC), 92

LOG = """
    INSERT INTO transfer_logs (tenant_id, id, link_id, batch_id, received_at, started_at, ended_at, protocol, direction,
        chunk, transfer_id, sla, quote, file_count, total_bytes, mean_file_bytes, status, bytes_moved, files_done,
        files_failed, throughput_bps)
    VALUES (%(tenant)s, %(id)s, %(link)s, %(batch)s, %(received)s, %(at)s, %(at)s + interval '9 s',
        'https', 'download', %(chunk)s, %(transfer)s, 'deadline', %(quote)s, 1, 10, 10, %(status)s, %(bytes)s, 1, 0, 8)
"""
BATCH = """
    INSERT INTO batches (id, tenant_id, idempotency_key, content_sha256, received_at, accepted, rejected,
        already_stored, rejections, key_id)
    VALUES (%(id)s, %(tenant)s, %(id)s, sha256('x'), now(), 1, 0, 0, '[]', %(key)s)
"""
TRANSFER = """
    INSERT INTO transfers (tenant_id, id, started_at, source, destination, network, mover, sla, file_count, total_bytes,
        sequence, journalled_sequence, bytes_moved, throughput_bps, energy, link_id, agreement_kept, enquiry, expected)
    VALUES (%(tenant)s, %(id)s, %(at)s, 'a', 'b', '', 'm', 'deadline', 1, 10, 8, 8, 10, 8, '[]', %(link)s, NULL,
        %(enquiry)s, %(expected)s) ON CONFLICT DO NOTHING
"""
QUOTE = """
    INSERT INTO quotes (tenant_id, transfer_id, at, key_id, link_id, tier_id, book_id, amount, currency, energy_basis,
        sla, total_bytes, throughput_bps, credit)
    VALUES (%(tenant)s, %(transfer)s, %(at)s, %(key)s, %(link)s, %(tier)s, %(book)s, %(amount)s, %(currency)s, 'total',
        'deadline', 10, 8, %(credit)s) ON CONFLICT DO NOTHING
"""
KEY = """
    INSERT INTO api_keys (id, tenant_id, name, prefix, secret_sha256, scopes, weight, rate_factor, created_at)
    VALUES (%(id)s, %(tenant)s, %(name)s, 'tw', sha256(%(id)s::text::bytea), %(scopes)s, 1, 1, now())
"""
REVOKE = """
    UPDATE api_keys SET revoked_at = now() WHERE id = %(key)s AND revoked_at IS NULL AND cardinality(scopes) = 1
"""
BOOK = """
    INSERT INTO price_books (id, tenant_id, name, currency, energy_basis, created_at)
    VALUES (%(id)s, %(tenant)s, %(id)s, 'EUR', 'total', now())
"""
PUBLISH_OR_WITHDRAW = """
    UPDATE price_books SET published_at = CASE WHEN published_at IS NULL THEN now() END,
           effective_from = CASE WHEN published_at IS NULL THEN now() + random() * interval '1 day' END
     WHERE id = %(book)s
"""
PRICE = """
    INSERT INTO prices (tenant_id, book_id, tier_id, base, per_gb, per_kwh, margin, credit)
    VALUES (%(tenant)s, %(book)s, %(tier)s, 1, 1, 1, 0, %(credit)s)
"""
CUSTOMER = """
    INSERT INTO customers (id, tenant_id, number, name, contact_name, contact_email, note, created_at)
    VALUES (%(id)s, %(tenant)s, %(number)s, %(id)s, '', '', '', now())
"""
SEAL = """
    INSERT INTO sealed_transfers (tenant_id, month, transfer_id)
    SELECT DISTINCT tenant_id, '2026-05-01'::date, transfer_id FROM transfer_logs
     WHERE tenant_id = %(tenant)s AND transfer_id IS NOT NULL AND started_at < '2026-06-01'
    ON CONFLICT DO NOTHING
"""
LINK = """
    WITH made AS (
        INSERT INTO endpoints (tenant_id, name) VALUES (%(tenant)s, 'a'), (%(tenant)s, 'b')
        RETURNING id
    )
    INSERT INTO links (id, tenant_id, source_id, destination_id, network, mover)
    SELECT %(id)s, %(tenant)s, min(id::text)::uuid, max(id::text)::uuid, '', 'm' FROM made
"""


@dataclass
class Provider:
    """A tenant whose rows a test changes in any order, as the service and its agents do."""

    tenant: Tenant
    admin: psycopg.Connection
    chance: random.Random
    link: UUID = field(default_factory=uuid4)
    keys: list[UUID] = field(default_factory=list)
    books: list[UUID] = field(default_factory=list)
    tiers: list[UUID] = field(default_factory=list)
    customers: list[UUID] = field(default_factory=list)
    transfers: list[UUID] = field(default_factory=lambda: [uuid4() for _ in range(12)])

    def execute(self, query: LiteralString, **values: Any) -> int:
        return self.admin.execute(query, {"tenant": self.tenant.id, "link": self.link, **values}).rowcount

    def found(self) -> None:
        """Store what transfers refer to, and months for them."""
        months = [month.begins_at.date() for month in MONTHS]
        for table in ("log", "quote"):
            self.admin.execute(f"SELECT ensure_{table}_partitions(%s)", [months])
        self.execute(LINK, id=self.link)
        self.tiers = [uuid4(), uuid4()]
        for scopes in (["agent"], ["agent"], ["agent"], ["agent", "provider"]):
            self.keys.append(uuid4())
            self.execute(KEY, id=self.keys[-1], name=f"key {len(self.keys)}", scopes=scopes)
        for number in range(2):
            self.books.append(uuid4())
            self.execute(BOOK, id=self.books[-1])
            for tier in self.tiers:
                self.execute(PRICE, book=self.books[-1], tier=tier, credit=number)
            self.customers.append(uuid4())
            self.execute(CUSTOMER, id=self.customers[-1], number=number + 1)

    def draw_time(self) -> datetime:
        return FIRST + timedelta(days=self.chance.random() * DAYS)

    def log(self) -> None:
        """Log a transfer of the service, again or for the first time, or an imported record, by any key."""
        chance, batch = self.chance, uuid4()
        self.execute(BATCH, id=batch, key=chance.choice([*self.keys, None]))
        stated = f"0.500000 EUR total {chance.choice(self.books)}"
        self.execute(
            LOG,
            id=uuid4(),
            batch=batch,
            received=self.draw_time(),
            at=self.draw_time(),
            chunk=chance.choice([None, "whole", "whole", "part"]),
            transfer=chance.choice([*self.transfers, *[None] * 4]),
            quote=chance.choice([None, None, "free", stated]),
            status=chance.choice(["succeeded", "succeeded", "failed"]),
            bytes=chance.randrange(10**12),
        )

    def quote(self) -> None:
        chance = self.chance
        is_priced = chance.random() < 0.8
        self.execute(
            QUOTE,
            transfer=chance.choice(self.transfers),
            at=self.draw_time(),
            key=chance.choice(self.keys),
            tier=chance.choice(self.tiers),
            book=chance.choice(self.books) if is_priced else None,
            amount=chance.choice(["1.25", "0.000001"]) if is_priced else None,
            currency="EUR" if is_priced else None,
            credit=chance.choice([None, None, "0.5"]),
        )

    def begin(self) -> None:
        transfer = self.chance.choice(self.transfers)
        expected = {"feasible": self.chance.choice([True, True, False]), "probability": 0.9}
        self.execute(
            TRANSFER,
            id=transfer,
            at=self.draw_time(),
            enquiry=Jsonb({"sla": {"target": 5.0}}),
            expected=Jsonb(expected),
        )

    def judge(self) -> None:
        self.execute(
            "UPDATE transfers SET agreement_kept = %(kept)s WHERE tenant_id = %(tenant)s AND id = %(id)s",
            kept=self.chance.choice([True, False]),
            id=self.chance.choice(self.transfers),
        )

    def assign(self) -> None:
        self.execute(
            "INSERT INTO customer_keys (tenant_id, key_id, from_at, customer_id) "
            "VALUES (%(tenant)s, %(key)s, %(at)s, %(customer)s)",
            key=self.chance.choice(self.keys),
            at=self.draw_time(),
            customer=self.chance.choice([*self.customers, None]),
        )

    def take_back(self) -> None:
        self.execute(
            "DELETE FROM customer_keys WHERE tenant_id = %(tenant)s AND key_id = %(key)s",
            key=self.chance.choice(self.keys),
        )

    def replace_key(self) -> None:
        """Revoke a key of an agent, and make another with its name."""
        key = self.chance.choice(self.keys)
        if self.execute(REVOKE, key=key):
            name = self.admin.execute("SELECT name FROM api_keys WHERE id = %s", [key]).fetchone()
            self.keys.append(uuid4())
            self.execute(KEY, id=self.keys[-1], name=name[0] if name else "", scopes=["agent"])

    def publish_or_withdraw(self) -> None:
        self.execute(PUBLISH_OR_WITHDRAW, book=self.chance.choice(self.books))

    def change_credit(self) -> None:
        self.execute(
            "UPDATE prices SET credit = 1 - credit * 0.25 WHERE book_id = %(book)s", book=self.chance.choice(self.books)
        )

    def correct_log(self) -> None:
        self.execute(
            "UPDATE transfer_logs SET status = 'succeeded', bytes_moved = bytes_moved + 7 WHERE tenant_id = %(tenant)s "
            "AND id = (SELECT id FROM transfer_logs WHERE tenant_id = %(tenant)s ORDER BY md5(id::text) LIMIT 1)"
        )

    def remove_log(self) -> None:
        self.execute(
            "DELETE FROM transfer_logs WHERE tenant_id = %(tenant)s "
            "AND id = (SELECT id FROM transfer_logs WHERE tenant_id = %(tenant)s ORDER BY md5(id::text) DESC LIMIT 1)"
        )

    def seal(self) -> None:
        """Seal the transfers of the first month, as before its rows are dropped."""
        self.execute(SEAL)

    def refresh(self) -> None:
        RefreshUsage(self.tenant.parts.store.unit_of_work).run(self.tenant.id)

    @property
    def changes(self) -> Sequence[Callable[[], None]]:
        often = (self.log, self.log, self.log, self.quote, self.quote, self.begin, self.judge, self.refresh)
        seldom = (self.assign, self.take_back, self.replace_key, self.publish_or_withdraw, self.change_credit)
        return (*often, *often, *seldom, self.correct_log, self.remove_log, self.seal)

    def read(self, *, entirely: bool = False) -> dict[Any, Any]:
        """Return sums of all and of each holder, single transfers and what is spent, of all months.

        ``entirely`` : computed of all rows, whatever is stored.
        """
        read: dict[Any, Any] = {}
        with self.tenant.parts.store.unit_of_work(self.tenant.id) as uow:
            if entirely:  # not committed
                uow.connection.execute(
                    text("INSERT INTO usage_marks (tenant_id) VALUES (:tenant)"), {"tenant": self.tenant.id}
                )
            for month in MONTHS:
                sums = uow.usage.list_sums(month)
                read[month, "sums"] = order(sums)
                read[month, "each"] = sorted(map(str, uow.usage.iterate_transfers(month)))
                read[month, "spent"] = dict(uow.usage.list_spent(month))
                for line in sums:
                    holder = Holder(line.customer_id, None if line.customer_id else line.key_id)
                    read[month, holder] = order(uow.usage.list_sums(month, holder))
                    assert order(line for line in sums if holder.has(line)) == read[month, holder]
        return read


def order(lines: Any) -> list[UsageLine]:
    return sorted((replace(line, credit=line.credit.normalize()) for line in lines), key=str)
