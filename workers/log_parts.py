"""The use cases of a worker that read logs as Arrow: fits, the export, the retention.

Their libraries take a second to load and 200 MB. The journal's worker and the schedule do without them.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from services.application.logs.export import Export
from services.application.logs.retain import LogRetention
from services.application.models.refresh import Refresh
from services.application.shared.events import Reporter
from services.persistence.lake import ParquetLake
from services.persistence.lake_files import open_storage
from services.persistence.log_reader import LogReader
from services.persistence.store import Store
from services.settings import Settings
from services.system_clock import SystemClock
from workers.learner import Learner


@dataclass(frozen=True)
class LogParts:
    """Fits, export and retention, and the reader that they share."""

    reader: LogReader
    refresh: Refresh
    export: Export
    retention: LogRetention | None

    @classmethod
    def open(cls, database_url: str, store: Store, *, settings: Settings, reporter: Reporter) -> Self:
        """Create the parts; connections are opened when first used."""
        reader = LogReader(database_url)
        refresh = Refresh(
            unit_of_work=store.unit_of_work,
            logs=reader,
            learner=Learner(),
            clock=SystemClock(),
            interval=timedelta(seconds=settings.refresh_interval_s),
            stale_after=timedelta(seconds=settings.sweep_interval_s),
            reporter=reporter,
        )
        lake = None if settings.export_place is None else ParquetLake(open_storage(settings.export_place), reader)
        retention = None
        if settings.log_months is not None:
            retention = LogRetention(
                store.unit_of_work, store.months_of_logs, lake, settings.log_months, SystemClock(), reporter
            )
        return cls(reader, refresh, Export(store.unit_of_work, lake, SystemClock(), reporter), retention)

    def close(self) -> None:
        self.reader.close()
