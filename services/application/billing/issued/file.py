"""The file of an issued statement: a row for each billed transfer and each adjustment, which add up to it."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from services.application.billing.issued.values import Adjustment, IssuedStatement
from services.application.billing.usage import COLUMNS, ISSUER_COLUMNS, format_file
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict

ADJUSTMENT = "adjustment"
"""``billing`` of a row of the file that is no transfer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedFile:
    """An issued statement as CSV: its billed transfers, then its adjustments, a row each; they add up to it.

    It is run like a query, with a slot and limits.
    """

    tenant_id: UUID
    issued: IssuedStatement
    unit_of_work: UnitOfWork

    def read_chunks(self) -> Generator[bytes, None, None]:
        """Yield the file piece by piece, read from the store on demand.

        Raises
        ------
        Conflict : the statement was issued without its transfers; raised before the first piece.
        Unavailable : the store is unreachable.
        """
        issued = self.issued
        if not issued.has_transfers:
            raise Conflict(f"the logs of {issued.month} are in the exports alone; its sums are kept")
        ends = (issued.issuer.name, ", ".join(issued.issuer.address), issued.number, None)
        with self.unit_of_work as uow, closing(uow.issued_statements.iterate_transfers(issued.id)) as transfers:
            rows = ([*(getattr(transfer, name) for name in COLUMNS), *ends] for transfer in transfers)
            header = (*COLUMNS, *ISSUER_COLUMNS, "issued_number", "adjusts_number")
            yield from format_file(header, chain(rows, map(self._build_row, issued.adjustments)))

    def _build_row(self, adjustment: Adjustment) -> Sequence[object]:
        issuer = self.issued.issuer
        of_it = {
            "started_at": adjustment.month.begins_at,
            "ended_at": adjustment.month.ends_at,
            "billing": ADJUSTMENT,
            "amount": adjustment.sums.amount,
            "currency": adjustment.currency,
            "credit": adjustment.sums.credit,
            "customer": self.issued.customer.name,
        }
        ends = (issuer.name, ", ".join(issuer.address), self.issued.number, adjustment.number)
        return [*(of_it.get(name) for name in COLUMNS), *ends]

    def cancel(self) -> None:
        """Do nothing: an abandoned file ends by the store's own time limit."""
