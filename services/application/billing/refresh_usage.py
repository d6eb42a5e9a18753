"""Keeps what is billed of each transfer ready to be added up, computed again when something of it changed."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from services.application.shared.unit_of_work import UnitOfWork

TRANSFERS_A_TRANSACTION = 5_000
TRANSACTIONS_A_RUN = 100
"""A worker continues with the next tenant after this many; the next run continues where this one ended."""


@dataclass(frozen=True, slots=True)
class RefreshUsage:
    """Updates what is stored of usage; whatever is not updated yet is computed by who reads it."""

    unit_of_work: Callable[[UUID], UnitOfWork]

    def run(self, tenant_id: UUID) -> int:
        """Compute transfers again that changed since they were computed, and return how many."""
        total = 0
        for _ in range(TRANSACTIONS_A_RUN):
            with self.unit_of_work(tenant_id) as uow:
                refreshed = uow.usage_refresh.refresh(TRANSFERS_A_TRANSACTION)
                uow.commit()
            total += refreshed
            if refreshed < TRANSFERS_A_TRANSACTION:
                break
        return total
