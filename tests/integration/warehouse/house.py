"""A tenant whose logs are uploaded, exported and retained, by a clock that the test sets."""

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from services.application.billing.usage import Month
from services.application.logs.export import Export, View, find_folder
from services.application.logs.retain import LogRetention
from services.application.logs.roll_up import RollUp
from services.application.shared.events import WorkEvent
from services.application.shared.jobs import ExportLogs
from services.persistence.lake import ParquetLake
from services.persistence.lake_files import PART
from tests.records import ndjson, record
from tests.stack import Tenant


@dataclass(frozen=True)
class At:
    """A clock that stands."""

    time: datetime

    def now(self) -> datetime:
        return self.time


class Facts(list[WorkEvent]):
    def report(self, event: WorkEvent) -> None:
        self.append(event)


@dataclass(frozen=True)
class House:
    """A tenant whose logs are uploaded, exported and retained."""

    tenant: Tenant
    api: str
    folder: Path
    lake: ParquetLake
    facts: Facts

    def upload(self, *days: str, **changes: Any) -> list[dict[str, Any]]:
        """A record a day; the receipt's rejections."""
        records = [
            record(**{"started_at": f"{day}T10:00:00Z", "ended_at": f"{day}T10:00:40Z"} | changes) for day in days
        ]
        with self.tenant.client(self.api) as client:
            rejections: list[dict[str, Any]] = (
                client.post("/v1/logs", content=ndjson(records)).json().get("rejections", [])
            )
        self.roll_up()
        return rejections

    def roll_up(self) -> None:
        RollUp(self.tenant.parts.store.unit_of_work).run(self.tenant.id)

    def export(self) -> list[date]:
        parts = self.tenant.parts
        export = Export(parts.store.unit_of_work, self.lake, parts.clock, Facts())
        return [each.day for each in export.run(ExportLogs(self.tenant.id))]

    def retention(self, today: str, months: int = 2) -> LogRetention:
        store = self.tenant.parts.store
        clock = At(datetime.fromisoformat(f"{today}T02:40:00Z"))
        return LogRetention(store.unit_of_work, store.months_of_logs, self.lake, months, clock, self.facts)

    def file(self, day: str) -> Path:
        return self.folder / find_folder(View.TRANSFERS, self.tenant.id, date.fromisoformat(day)) / PART

    def rollups(self) -> list[dict[str, Any]]:
        return self.rows("SELECT day, transfers, bytes_moved, ended FROM daily_rollups ORDER BY day, link_id")

    def rows(self, query: str) -> list[dict[str, Any]]:
        with self.tenant.parts.store.unit_of_work(self.tenant.id) as uow:
            return [dict(row) for row in uow.connection.exec_driver_sql(query).mappings()]

    def used(self, month: str) -> list[tuple[str, int, int]]:
        with self.tenant.parts.store.unit_of_work(self.tenant.id) as uow:
            return [
                (each.billing, each.transfers, each.bytes_moved) for each in uow.usage.list_sums(Month.parse(month))
            ]

    def logged_months(self) -> set[str]:
        return {f"{row['started_at']:%Y-%m}" for row in self.rows("SELECT started_at FROM transfer_logs")}
