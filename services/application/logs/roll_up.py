"""Daily sums (rollups) for pages and analysts, computed again for the days whose rows changed."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from services.application.shared.unit_of_work import UnitOfWork

DAYS_A_TRANSACTION = 200
"""Days of links in one transaction; the cost of a day grows with its rows."""

TRANSACTIONS_A_RUN = 50
"""A worker continues with the next tenant after this many; the next run continues where this one ended."""

DAYS_A_PAGE = 20
"""A page sums up to so many days itself, so that it is up to date; it leaves more to the workers, all of them."""

ROWS_A_PAGE = 5_000
"""Most rows of the days that a page sums itself, which takes some tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class RollUp:
    """Updates the daily sums; an interrupted run has summed some days, and the others stay marked."""

    unit_of_work: Callable[[UUID], UnitOfWork]

    def run(self, tenant_id: UUID) -> int:
        """Sum the marked days of links, and return how many. Days of heartbeats and quotes have no sums."""
        with self.unit_of_work(tenant_id) as uow:
            uow.log_days.apply_export_marks()
            uow.commit()
        total = 0
        for _ in range(TRANSACTIONS_A_RUN):
            computed = self._compute_marked_days(tenant_id, DAYS_A_TRANSACTION)
            total += computed
            if computed < DAYS_A_TRANSACTION:
                break
        return total

    def update_for_page(self, tenant_id: UUID) -> None:
        """Sum the days that changed last, unless they are more than a page can wait for: workers are soon there."""
        with self.unit_of_work(tenant_id) as uow:
            waiting = uow.rollups.count_waiting(DAYS_A_PAGE + 1)
        if waiting <= DAYS_A_PAGE:
            self._compute_marked_days(tenant_id, DAYS_A_PAGE, most_rows=ROWS_A_PAGE)

    def _compute_marked_days(self, tenant_id: UUID, most: int, *, most_rows: int | None = None) -> int:
        with self.unit_of_work(tenant_id) as uow:
            computed = uow.rollups.compute_marked_days(most, most_rows=most_rows)
            uow.commit()
        return computed
