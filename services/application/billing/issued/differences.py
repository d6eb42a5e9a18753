"""What became of issued statements, and which differences the next statement bills.

The difference of a month is what it comes to now, less what was issued of it and less what was adjusted so far, so
that each is billed once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from services.application.billing.issued.values import Adjustment, Change, IssuedStatement, Sums, sum_billed
from services.application.billing.usage import Holder, Month, UsageLine
from services.application.shared.unit_of_work import UnitOfWork


def list_open_adjustments(customer_id: UUID, month: Month, uow: UnitOfWork) -> Sequence[Adjustment]:
    """Return the differences of earlier issued months that no statement has billed yet.

    While issued statements are locked, the statement of this month bills them, and no other one does.
    """
    earlier = [each for each in uow.issued_statements.list_of(customer_id) if each.month < month]
    return [_to_adjustment(change) for change in find_changes(earlier, uow) if change.is_open]


def list_open_adjustments_of_all(month: Month, uow: UnitOfWork) -> Mapping[UUID, Sequence[Adjustment]]:
    """Return the same by customer, of those whose statement of this month is not issued.

    The sums of each earlier issued month are read once for all customers.
    """
    issued = {each.customer_id for each in uow.issued_statements.list_of_month(month)}
    earlier = [each for each in uow.issued_statements.list_before(month) if each.customer_id not in issued]
    adjusted = uow.issued_statements.sum_adjustments([each.id for each in earlier])
    lines = {each: _group_by_customer(uow.usage.list_sums(each)) for each in {one.month for one in earlier}}
    found: dict[UUID, list[Adjustment]] = {}
    for each in earlier:
        now = lines[each.month].get(each.customer_id, ())
        for change in _compare(each, now, adjusted.get(each.id, {})):
            if change.is_open:
                found.setdefault(each.customer_id, []).append(_to_adjustment(change))
    return found


def find_changes(statements: Sequence[IssuedStatement], uow: UnitOfWork) -> Iterator[Change]:
    """Yield what became of issued statements by currency, also where nothing has changed."""
    adjusted = uow.issued_statements.sum_adjustments([each.id for each in statements])
    for each in statements:
        now = uow.usage.list_sums(each.month, Holder(customer_id=each.customer_id))
        yield from _compare(each, now, adjusted.get(each.id, {}))


def _compare(issued: IssuedStatement, lines: Iterable[UsageLine], adjusted: Mapping[str, Sums]) -> Iterator[Change]:
    now, then = sum_billed(lines), {due.currency: due.sums for due in issued.dues}
    for currency in sorted(now.keys() | adjusted.keys() | then.keys()):
        yield Change(
            statement_id=issued.id,
            number=issued.number,
            month=issued.month,
            currency=currency,
            issued=then.get(currency, Sums()),
            adjusted=adjusted.get(currency, Sums()),
            now=now.get(currency, Sums()),
        )


def _to_adjustment(change: Change) -> Adjustment:
    return Adjustment(
        corrected_id=change.statement_id,
        number=change.number,
        month=change.month,
        currency=change.currency,
        sums=change.difference,
    )


def _group_by_customer(lines: Iterable[UsageLine]) -> Mapping[UUID, Sequence[UsageLine]]:
    grouped: dict[UUID, list[UsageLine]] = {}
    for line in lines:
        if line.customer_id is not None:
            grouped.setdefault(line.customer_id, []).append(line)
    return grouped
