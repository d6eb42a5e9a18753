"""What became of issued statements, and which differences the next statement bills.

The difference of a month is what it comes to now, less what was issued of it and less what was adjusted so far, so
that each is billed once.
"""

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from services.application.billing.issued.values import Adjustment, Change, IssuedStatement, Sums, sum_billed
from services.application.billing.usage import Holder, Month
from services.application.shared.unit_of_work import UnitOfWork


def list_open_adjustments(customer_id: UUID, month: Month, uow: UnitOfWork) -> Sequence[Adjustment]:
    """Return the differences of earlier issued months that no statement has billed yet.

    While issued statements are locked, the statement of this month bills them, and no other one does.
    """
    earlier = [each for each in uow.issued_statements.list_of(customer_id) if each.month < month]
    return [
        Adjustment(
            corrected_id=change.statement_id,
            number=change.number,
            month=change.month,
            currency=change.currency,
            sums=change.difference,
        )
        for change in find_changes(earlier, uow)
        if change.is_open
    ]


def find_changes(statements: Iterable[IssuedStatement], uow: UnitOfWork) -> Iterator[Change]:
    """Yield what became of issued statements by currency, also where nothing has changed."""
    for each in statements:
        now = sum_billed(uow.usage.list_sums(each.month, Holder(customer_id=each.customer_id)))
        adjusted = uow.issued_statements.sum_adjustments(each.id)
        issued = {due.currency: due.sums for due in each.dues}
        for currency in sorted(now.keys() | adjusted.keys() | issued.keys()):
            yield Change(
                statement_id=each.id,
                number=each.number,
                month=each.month,
                currency=currency,
                issued=issued.get(currency, Sums()),
                adjusted=adjusted.get(currency, Sums()),
                now=now.get(currency, Sums()),
            )
