"""A history with everything that the questions are about: logs, promises, prices, heartbeats and two releases.

It is made up from a seed, kept as Python values, and stored as the service would have stored it.
"""

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import create_key
from services.application.models.learned_model import Tier
from tests.link_models import FITTED_AT, VERDICT, link_model
from tests.records import ndjson, record
from tests.stack import Tenant
from tradewind.model import LinkModel
from tradewind.tiers.setting_table import SettingTable
from tradewind.wire.inventory import CreatedKey, NewKey

FIRST, LAST = datetime(2026, 2, 20, tzinfo=UTC), datetime(2026, 4, 6, tzinfo=UTC)
ENDS = (("alpha", "omega", 1e10), ("beta", "omega", 4e9), ("alpha", "gamma", None))
"""Source, destination and bandwidth of each link, bit/s; one is not known."""
CUSTOMERS = ("archive", "physics")
TIER_NAMES = (("gold", "silver"), ("bulk", None))
"""The last tier of each link has no name."""


def find_tier_id(link: tuple[str, str], tier: tuple[int, int]) -> UUID:
    return uuid5(NAMESPACE_URL, f"{link} {tier}")


"""By the leaf of a model and the number of the partition in it."""
CREDIT = Decimal("0.250000")
MODELS = (link_model(), link_model(2000))


@dataclass(frozen=True)
class Promise:
    """What a transfer was promised and quoted, and whether it came true; ``amount`` : EUR."""

    probability: float
    feasible: bool
    kept: bool | None
    kind: str
    tier: tuple[int, int]
    amount: Decimal | None
    predicted_bps: float


@dataclass(frozen=True)
class Moved:
    """A transfer: its record, who sent it, and what the service knows of it; ``rates_bps`` : of its heartbeats."""

    record: dict[str, Any]
    customer: str
    duration_s: float
    promise: Promise | None = None
    rates_bps: Sequence[float] = ()

    @property
    def link(self) -> tuple[str, str]:
        return self.record["source"], self.record["destination"]

    @property
    def status(self) -> str:
        return str(self.record["outcome"]["status"])

    @property
    def moved_bytes(self) -> int:
        return int(self.record["outcome"]["bytes_moved"])

    @property
    def rate_bps(self) -> float:
        return float(self.record["outcome"]["throughput_bps"])

    @property
    def bandwidth_bps(self) -> float | None:
        known: float | None = self.record.get("path", {}).get("bandwidth_bps")
        return known

    @property
    def settings(self) -> tuple[int | None, ...]:
        return tuple(self.record["parameters"].get(name) for name in ("concurrency", "parallelism", "pipelining"))

    @property
    def started_at(self) -> datetime:
        return datetime.fromisoformat(self.record["started_at"])


@dataclass
class History:
    """All that was stored."""

    moved: list[Moved] = field(default_factory=list)
    models: tuple[LinkModel, LinkModel] = MODELS

    @property
    def succeeded(self) -> list[Moved]:
        return [each for each in self.moved if each.status == "succeeded"]

    @property
    def served(self) -> list[tuple[Moved, Promise]]:
        return [(each, each.promise) for each in self.moved if each.promise is not None]


def make_up_history(seed: int, count: int = 360) -> History:
    """Return transfers of three links, one in two of them recommended by the service."""
    drawn = random.Random(seed)
    return History([_make_up_transfer(drawn, served=number % 2 == 0) for number in range(count)], _make_models())


def _make_up_transfer(drawn: random.Random, *, served: bool) -> Moved:
    source, destination, bandwidth_bps = drawn.choice(ENDS)
    started_at = FIRST + timedelta(seconds=drawn.randrange(int((LAST - FIRST).total_seconds())))
    duration_s = drawn.randrange(5_000, 90_000) / 1e3
    files, mean_bytes = drawn.randrange(2, 40), drawn.randrange(2, 9) * drawn.choice((10**5, 10**6, 10**7))
    total_bytes = files * mean_bytes
    status = drawn.choices(("succeeded", "failed", "cancelled"), (88, 9, 3))[0]
    moved_bytes = total_bytes if status == "succeeded" else total_bytes // 2
    parameters: dict[str, Any] = {"concurrency": drawn.choice((2, 8)), "parallelism": drawn.choice((1, 4))}
    parameters |= {"pipelining": drawn.choice((1, 8))} if drawn.random() < 0.8 else {}
    parameters |= {"codec": "zstd"} if drawn.random() < 0.3 else {}
    parameters |= {"nic_bps": drawn.choice((1e8, 8e9))} if drawn.random() < 0.2 else {}
    parameters |= {"cores": 2} if drawn.random() < (0.97 if source == "beta" else 0.1) else {}
    ends = [host for host in ("source", "destination") if drawn.random() < 0.6]
    known = record(
        id=str(UUID(int=drawn.getrandbits(128))),
        started_at=started_at.isoformat(),
        ended_at=(started_at + timedelta(seconds=duration_s)).isoformat(),
        source=source,
        destination=destination,
        path={"bandwidth_bps": bandwidth_bps, "rtt_s": 0.05} if bandwidth_bps is not None else None,
        dataset={"file_count": files, "total_bytes": total_bytes},
        parameters=parameters,
        outcome={
            "status": status,
            "bytes_moved": moved_bytes,
            "files_done": files if status == "succeeded" else files // 2,
            "files_failed": 1 if status == "failed" else 0,
            "throughput_bps": moved_bytes * 8 / duration_s,
        },
        energy=[
            {"host": host, "total_j": drawn.randrange(50, 900) / 1, "method": "rapl", "quality": "measured"}
            for host in ends
        ],
        transfer_id=str(UUID(int=drawn.getrandbits(128))) if served else None,
        chunk="whole" if served and drawn.random() < 0.3 else None,
    )
    found = Moved(known, drawn.choice(CUSTOMERS), duration_s)
    return _promise(drawn, found) if served else found


def _promise(drawn: random.Random, moved: Moved) -> Moved:
    probability = drawn.choice((0.81, 0.9, 0.97))
    feasible = drawn.random() < 0.9
    kept = drawn.random() < probability if drawn.random() < 0.9 else None
    rates_bps = [moved.rate_bps * drawn.uniform(0.5, 1.5) for _ in range(drawn.randrange(0, 6))]
    promise = Promise(
        probability=probability,
        feasible=feasible,
        kept=kept if moved.status == "succeeded" else False,
        kind=drawn.choice(("deadline", "throughput_at_least", "energy_at_most", "power_at_most")),
        tier=(drawn.randrange(2), drawn.randrange(2)),
        amount=Decimal(drawn.randrange(1, 10**6)) / 10**4 if drawn.random() < 0.9 else None,
        predicted_bps=moved.rate_bps * drawn.uniform(0.7, 1.4),
    )
    return replace(moved, promise=promise, rates_bps=rates_bps)


def _make_models() -> tuple[LinkModel, LinkModel]:
    """Return the model of each release: the later one finds the other end of the lattice faster."""
    earlier, later = MODELS
    leaves = []
    for leaf in later.leaves:
        turned = [
            replace(each, log_throughput_mean=each.log_throughput_mean + math.log(1.5) - 0.2 * number)
            for number, each in enumerate(leaf.table.settings)
        ]
        leaves.append(replace(leaf, table=SettingTable(tuple(turned), leaf.table.base_power_w)))
    return earlier, replace(later, leaves=tuple(leaves))


class Storage:
    """Stores a history for a tenant."""

    def __init__(self, tenant: Tenant, api: str) -> None:
        self._tenant, self._api = tenant, api
        self._keys = {name: self._make_key(name) for name in CUSTOMERS}
        self._tiers: dict[tuple[tuple[str, str], tuple[int, int]], UUID] = {
            ((source, destination), (leaf, part)): find_tier_id((source, destination), (leaf, part))
            for source, destination, _ in ENDS
            for leaf in range(2)
            for part in range(2)
        }
        self._book = uuid4()

    def _make_key(self, name: str) -> CreatedKey:
        new = NewKey(name=name, scopes=(Scope.AGENT,))
        with self._tenant.parts.store.unit_of_work(self._tenant.id) as uow:
            return create_key(new, make_secret(), uow=uow, clock=self._tenant.parts.clock)

    def store(self, history: History) -> None:
        half = len(history.moved) // 2
        for number, (moved, model) in enumerate(
            zip((history.moved[:half], history.moved[half:]), history.models, strict=True)
        ):
            self._upload(moved)
            self._publish(model, FITTED_AT + timedelta(days=number))
        self._store_prices()
        links = self._list_links()
        for each, promise in history.served:
            self._store_served(each, promise, links[each.link])

    def _upload(self, moved: Sequence[Moved]) -> None:
        for customer in CUSTOMERS:
            rows = [row for each in moved if each.customer == customer for row in _list_records(each)]
            headers = {"Authorization": f"Bearer {self._keys[customer].secret}"}
            with self._tenant.client(self._api) as client:
                receipt = client.post("/v1/logs", content=ndjson(rows), headers=headers)
            assert (receipt.status_code, receipt.json()["rejected"]) == (201, 0), receipt.text

    def _list_links(self) -> Mapping[tuple[str, str], UUID]:
        with self._tenant.parts.store.unit_of_work(self._tenant.id) as uow:
            found = uow.connection.exec_driver_sql("SELECT source, destination, link_id FROM warehouse.links")
            return {(source, destination): link for source, destination, link in found}

    def _publish(self, model: LinkModel, at: datetime) -> None:
        for_links = {link: ends for ends, link in self._list_links().items()}
        with self._tenant.parts.store.unit_of_work(self._tenant.id) as uow:
            release_id = uow.release_work.begin(at)
            uow.commit()
        assert release_id is not None
        for link, ends in for_links.items():
            with self._tenant.parts.store.unit_of_work(self._tenant.id) as uow:
                assert uow.release_work.claim(release_id, link) is not None
                tiers = [[Tier(self._tiers[ends, (leaf, part)]) for part in range(2)] for leaf in range(2)]
                model_id = uow.models.add(link, model, tiers, fitted_at=at)
                uow.release_work.finish(release_id, link, model_id, VERDICT, at)
                uow.commit()
        with self._tenant.parts.store.unit_of_work(self._tenant.id) as uow:
            uow.releases.publish(release_id, {}, at)
            uow.commit()

    def _store_prices(self) -> None:
        with self._tenant.parts.store.unit_of_work(self._tenant.id) as uow:
            run = uow.connection.exec_driver_sql
            run(
                "INSERT INTO price_books (id, tenant_id, name, currency, energy_basis, created_at)"
                " VALUES (%s, %s, 'book', 'EUR', 'total', now())",
                (self._book, self._tenant.id),
            )
            for (_, (leaf, part)), tier in self._tiers.items():
                if (name := TIER_NAMES[leaf][part]) is not None:
                    run(
                        "INSERT INTO tier_names (tenant_id, tier_id, name) VALUES (%s, %s, %s)",
                        (self._tenant.id, tier, name),
                    )
                run(
                    "INSERT INTO prices (tenant_id, book_id, tier_id, base, per_gb, per_kwh, margin, credit)"
                    " VALUES (%s, %s, %s, 1, 0, 0, 0, %s)",
                    (self._tenant.id, self._book, tier, CREDIT),
                )
            uow.commit()

    def _store_served(self, moved: Moved, promise: Promise, link: UUID) -> None:
        transfer = UUID(moved.record["transfer_id"])
        started_at, key = moved.started_at, self._keys[moved.customer].id
        sla = {"kind": promise.kind, "confidence": 0.9, "target": 100.0}
        with self._tenant.parts.store.unit_of_work(self._tenant.id) as uow:
            run = uow.connection.exec_driver_sql
            months = [started_at.date().replace(day=1), (started_at - timedelta(minutes=1)).date().replace(day=1)]
            run("SELECT ensure_sample_partitions(%s), ensure_quote_partitions(%s)", (months, months))
            run(
                "INSERT INTO transfers (tenant_id, id, started_at, source, destination, mover, sla, enquiry, expected,"
                " key_id, file_count, total_bytes, sequence, journalled_sequence, bytes_moved, ended_at, status,"
                " duration_s, agreement_kept, link_id) VALUES (%s, %s, %s, %s, %s, 'tradewind', %s, %s, %s, %s, 1, 1,"
                " 1, 1, %s, %s, %s, %s, %s, %s)",
                (
                    self._tenant.id, transfer, started_at, *moved.link, promise.kind, json.dumps({"sla": sla}),
                    json.dumps({"probability": promise.probability, "feasible": promise.feasible}), key,
                    moved.moved_bytes, started_at + timedelta(seconds=moved.duration_s), moved.status,
                    moved.duration_s, promise.kept, link,
                ),
            )  # fmt: skip
            run(
                "INSERT INTO quotes VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'total', %s, 1, %s, NULL)",
                (
                    self._tenant.id, transfer, started_at - timedelta(minutes=1), key, link,
                    self._tiers[moved.link, promise.tier], self._book if promise.amount is not None else None,
                    promise.amount, "EUR" if promise.amount is not None else None, promise.kind,
                    promise.predicted_bps,
                ),
            )  # fmt: skip
            for sequence, rate_bps in enumerate((0.0, *moved.rates_bps)):
                run(
                    "INSERT INTO transfer_samples (tenant_id, transfer_id, transfer_started_at, sequence, at,"
                    " interval_s, bytes_moved, throughput_bps, remaining_bytes, remaining_files, parameters, chunks,"
                    " decided_chunks, changed, kind, reason)"
                    " VALUES (%s, %s, %s, %s, %s, 5, 1, %s, 0, 0, '{}', '[]', '[]', false, 'hold', '')",
                    (self._tenant.id, transfer, started_at, sequence, started_at, rate_bps),
                )
            uow.commit()


def _list_records(moved: Moved) -> list[dict[str, Any]]:
    """Return the record of a transfer, and those of its chunks, which no question may count."""
    if moved.record.get("chunk") != "whole":
        return [moved.record]
    chunks = [dict(moved.record, id=str(uuid4()), chunk=chunk) for chunk in ("small", "large")]
    return [moved.record, *chunks]
