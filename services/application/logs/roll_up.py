"""Daily rollups: what pages and analysts add up, made anew for the days whose rows have changed."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from services.application.shared.unit_of_work import UnitOfWork

DAYS_A_TRANSACTION = 200
"""Days of links; each costs what its rows cost."""

TRANSACTIONS_A_RUN = 50
"""A worker goes on to the next tenant after so many; the next run goes on where this one ended."""

DAYS_A_PAGE = 20
"""So many a page makes anew itself, so that it tells of what came a moment ago; more it leaves to the workers."""

ROWS_A_PAGE = 5_000
"""The days that a page makes anew have no more rows together, which take some tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class RollUp:
    """Brings rollups up to date; an interrupted run has made some days and left the marks of the others."""

    unit_of_work: Callable[[UUID], UnitOfWork]

    def run(self, tenant_id: UUID) -> int:
        """Make the days of links that are marked; how many. Days of heartbeats and quotes have nothing to be made."""
        with self.unit_of_work(tenant_id) as uow:
            uow.log_days.settle()
            uow.commit()
        made = 0
        for _ in range(TRANSACTIONS_A_RUN):
            settled = self._settle(tenant_id, DAYS_A_TRANSACTION)
            made += settled
            if settled < DAYS_A_TRANSACTION:
                break
        return made

    def for_page(self, tenant_id: UUID) -> None:
        """Make what changed a moment ago, and no more than a page can wait for."""
        self._settle(tenant_id, DAYS_A_PAGE, most_rows=ROWS_A_PAGE)

    def _settle(self, tenant_id: UUID, most: int, *, most_rows: int | None = None) -> int:
        with self.unit_of_work(tenant_id) as uow:
            settled = uow.rollups.settle(most, most_rows=most_rows)
            uow.commit()
        return settled
