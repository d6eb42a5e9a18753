"""Filters of transfers as conditions of a statement."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, or_, select, tuple_

from services.application.transfers.repository import TransferFilter, TransferResult
from services.persistence.tables import transfers
from tradewind.wire.transfers import TransferState


def is_before(transfer_id: UUID) -> ColumnElement[bool]:
    place = tuple_(transfers.c.started_at, transfers.c.id)
    other = select(transfers.c.started_at, transfers.c.id).where(transfers.c.id == transfer_id).scalar_subquery()
    return place < other


def list_conditions(matching: TransferFilter, now: datetime) -> Iterator[Any]:
    known = transfers.c
    for column, names in ((known.source, matching.sources), (known.destination, matching.destinations)):
        if names is not None:
            yield column.in_(names)
    if matching.sla is not None:
        yield known.sla == matching.sla
    if matching.result is not None:
        yield from _list_result_conditions(matching.result)
    if matching.key_ids is not None:
        yield known.key_id.in_(matching.key_ids)
    if matching.since is not None:
        yield known.started_at >= matching.since
    if matching.until is not None:
        yield known.started_at < matching.until
    if matching.state is not None:
        yield _is_in(matching.state, now)


def _list_result_conditions(result: TransferResult) -> Iterator[Any]:
    known = transfers.c
    is_promised = known.expected["feasible"].astext.is_distinct_from("false")
    yield known.ended_at.is_not(None)
    match result:
        case TransferResult.MET:
            yield from (known.agreement_kept, is_promised)
        case TransferResult.MISSED:
            yield from (~known.agreement_kept, is_promised)
        case TransferResult.NOT_PROMISED:
            yield from (known.agreement_kept.is_not(None), ~is_promised)
        case _:
            yield known.status == result.value


def _is_in(state: TransferState, now: datetime) -> Any:
    silent_at, ended = transfers.c.silent_at, transfers.c.ended_at
    match state:
        case TransferState.ENDED:
            return ended.is_not(None)
        case TransferState.LIVE:
            return and_(ended.is_(None), silent_at > now)
        case TransferState.SILENT:
            return and_(ended.is_(None), or_(silent_at.is_(None), silent_at <= now))
