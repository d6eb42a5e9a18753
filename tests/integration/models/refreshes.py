"""Refreshes of one tenant for tests: by hand, on a clock that is turned, with jobs kept instead of sent."""

import math
import random
from datetime import timedelta
from typing import Any
from uuid import UUID

from services.application.models.refresh import Refresh
from services.application.shared.events import WorkEvent
from services.application.shared.jobs import FitLink, RefreshModels
from services.persistence.log_reader import LogReader
from tests.records import ndjson, record
from tests.stack import Tenant
from workers.learner import Learner

STALE_AFTER = timedelta(seconds=60)


class Refreshes:
    """Refreshes of one tenant, with a clock that is turned by hand and jobs that are kept instead of sent."""

    def __init__(
        self, tenant: Tenant, logs: LogReader, *, interval: timedelta = timedelta(), learner: Learner | None = None
    ) -> None:
        self.tenant = tenant
        self.time = tenant.parts.clock.now()
        self.sent: list[Any] = []
        self.facts: list[WorkEvent] = []
        self.refresh = Refresh(
            unit_of_work=self._unit_of_work,
            logs=logs,
            learner=learner or Learner(),
            clock=self,
            interval=interval,
            stale_after=STALE_AFTER,
            reporter=self,
        )

    def now(self):
        return self.time

    def _unit_of_work(self, tenant_id: UUID):
        work = self.tenant.parts.store.unit_of_work(tenant_id)
        work._outbox = self  # the jobs are looked at instead of sent
        return work

    def send(self, event: Any) -> None:
        self.sent.append(event)

    def report(self, event: WorkEvent) -> None:
        self.facts.append(event)

    def fits(self) -> list[FitLink]:
        return [event for event in self.sent if isinstance(event, FitLink)]

    def run_now(self) -> int | None:
        """The same by the clock of the API, by which the store tells what is new to a model."""
        self.time = self.tenant.parts.clock.now()
        return self.run()

    def run(self) -> int | None:
        """Begin, and do every fit that was asked for; the current release afterwards."""
        self.sent.clear()
        self.refresh.start(RefreshModels(self.tenant.id))
        for job in self.fits():
            self.refresh.fit(job)
        with self.tenant.parts.store.unit_of_work(self.tenant.id) as uow:
            return uow.releases.find_current()


def rows(count: int = 60, *, seed: int = 1, destination: str = "omega", first_minute: int = 0) -> list[dict[str, Any]]:
    """Records of small files whose rate follows the settings."""
    draw = random.Random(seed)
    made = []
    for i in range(count):
        cc, p, pp = draw.choice((1, 2, 4, 8)), draw.choice((1, 2)), draw.choice((1, 4, 16))
        bps = 8e8 * (1 - math.exp(-cc * p * (1 + math.log2(pp)) / 12)) * math.exp(draw.gauss(0, 0.05))
        made.append(
            record(
                first_minute + i,
                destination=destination,
                parameters={"concurrency": cc, "parallelism": p, "pipelining": pp},
                dataset={"file_count": 300, "total_bytes": 30_000_000},
                outcome={
                    "status": "succeeded",
                    "bytes_moved": 30_000_000,
                    "files_done": 300,
                    "files_failed": 0,
                    "throughput_bps": bps,
                },
                energy=[
                    {
                        "host": "destination",
                        "total_j": 40 * (20 + cc * p),
                        "base_w": 18,
                        "method": "rapl",
                        "quality": "measured",
                    }
                ],
            )
        )
    return made


def upload(api: str, tenant: Tenant, records: list[dict[str, Any]]) -> None:
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=ndjson(records))
        assert answer.status_code == 201, answer.text
        assert answer.json()["rejected"] == 0
