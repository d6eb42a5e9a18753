"""*Transfers*: live and past ones, with what was measured and decided, and why."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, Self
from uuid import UUID

from fastapi import Depends, Request, Response
from pydantic import Field, model_validator

from services.admin.charts.timeline import Level, build_timeline
from services.admin.events import stream_changes
from services.admin.formatting.transfer_rows import (
    TransferRow,
    build_row,
    build_rows,
    explain_failure,
    find_energy_leads,
)
from services.admin.lists import Empty, Filters, FiltersOf, Line
from services.admin.pages.sla_outcomes import describe_outcome, find_target_bps
from services.admin.rendering import build_page_router, encode_chart, render_fragment, render_page
from services.admin.visitors import Parts, Signed, SignInsOf, Visit
from services.application.transfers.repository import (
    MOST_SORTED,
    StoredTransfer,
    TransferFilter,
    TransferOrder,
    TransferResult,
)
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import SlaKind
from tradewind.transfer import Status
from tradewind.units import MBIT
from tradewind.wire.base import EARLIEST_INSTANT, END_OF_INSTANTS, Strict
from tradewind.wire.inventory import Key
from tradewind.wire.transfers import TransferState

router = build_page_router("/transfers")

PAGE = 50
MOST_SAMPLES = 2_000
"""Newest samples on one page."""

LAST_SORTED_PAGE = MOST_SORTED // PAGE
Sort = Annotated[str, Field(pattern=f"^-?({'|'.join(TransferOrder)})$")]
Day = Annotated[date, Field(ge=EARLIEST_INSTANT.date(), lt=END_OF_INSTANTS.date())]


class TransferListFilters(Strict):
    """The filters of the list. Days are full days of UTC; ends are parts of the names of endpoints.

    ``sort`` : one of `TransferOrder`, with a minus for the highest first; the newest come first by default.
    """

    state: Annotated[TransferState | None, Empty] = None
    source: Annotated[Line | None, Empty] = None
    destination: Annotated[Line | None, Empty] = None
    sla: Annotated[SlaKind | None, Empty] = None
    outcome: Annotated[TransferResult | None, Empty] = None
    key: Annotated[Line | None, Empty] = None
    since: Annotated[Day | None, Empty] = None
    until: Annotated[Day | None, Empty] = None
    sort: Annotated[Sort | None, Empty] = None
    before: Annotated[UUID | None, Empty] = None
    page: Annotated[int, Field(ge=1, le=LAST_SORTED_PAGE)] = 1

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.since and self.until and self.until < self.since:
            raise InvalidValue("until", f"is before since, {self.since}")
        return self

    @property
    def order(self) -> TransferOrder | None:
        """What the list is sorted by; ``None`` for the newest first."""
        is_default = self.sort is None or self.sort == f"-{TransferOrder.STARTED}"
        return None if is_default or self.sort is None else TransferOrder(self.sort.lstrip("-"))


FiltersOfList = Annotated[Filters[TransferListFilters], Depends(FiltersOf(TransferListFilters))]


def _begin_of(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


class TransferPage(NamedTuple):
    """A page of the list; ``older``, ``newer`` : addresses of the pages next to it, or empty."""

    rows: Sequence[TransferRow]
    older: str
    newer: str


@router.get("")
def transfers_page(request: Request, visit: Signed, parts: Parts, filters: FiltersOfList) -> Response:
    """List transfers, the newest first; without filters the list follows live transfers."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        keys = sorted(uow.keys.list_all(), key=lambda key: key.name.casefold())
    problem = filters.problem or _explain_unknown_key(keys, filters.values.key)
    shown = TransferPage((), "", "") if problem else _read_page(parts, visit, filters, keys)
    return render_page(
        request,
        "transfers.html",
        visit,
        **shown._asdict(),
        problem=problem,
        states=tuple(TransferState),
        kinds=tuple(SlaKind),
        outcomes=OUTCOMES,
        heads=list(_list_heads(filters)),
        most_sorted=MOST_SORTED,
        key_names=list(dict.fromkeys(key.name for key in keys)),
        filters=filters,
        follows=not filters.typed,
    )


OUTCOMES: Mapping[TransferResult, str] = MappingProxyType(
    {
        TransferResult.MET: "SLA met",
        TransferResult.MISSED: "SLA missed",
        TransferResult.NOT_PROMISED: "SLA not promised",
        TransferResult.SUCCEEDED: "succeeded",
        TransferResult.FAILED: "failed",
        TransferResult.CANCELLED: "cancelled",
    }
)
"""Results as the form names them."""


def _explain_unknown_key(keys: Sequence[Key], name: str | None) -> str:
    return "" if name is None or any(key.name == name for key in keys) else f"There is no key {name}."


def _list_heads(filters: Filters[TransferListFilters]) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each column: its name, the address that sorts by it, its present order, and whether it has numbers."""
    sort = filters.values.sort or f"-{TransferOrder.STARTED}"
    for label, order in _COLUMNS:
        if order is None:
            yield label, "", "none", False
            continue
        is_sorted, is_descending = sort.lstrip("-") == order, sort.startswith("-")
        again = f"{order}" if is_sorted and is_descending else f"-{order}"
        direction = ("descending" if is_descending else "ascending") if is_sorted else "none"
        yield label, filters.build_address(sort=again, before=None, page=None), direction, True


_COLUMNS = (
    ("From", None),
    ("To", None),
    ("With", None),
    ("SLA", None),
    ("State", None),
    ("Progress", None),
    ("Throughput", TransferOrder.THROUGHPUT),
    ("Moved", TransferOrder.MOVED),
    ("Took", TransferOrder.DURATION),
    ("Started", TransferOrder.STARTED),
)


def _read_page(parts: Parts, visit: Visit, filters: Filters[TransferListFilters], keys: Sequence[Key]) -> TransferPage:
    """Return one page: sorted by a value by its number, else before the last transfer of the page before."""
    values, now = filters.values, parts.clock.now()
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        matching = TransferFilter(
            state=values.state,
            sources=None if values.source is None else uow.journal.list_names_with(values.source),
            destinations=None if values.destination is None else uow.journal.list_names_with(values.destination),
            sla=values.sla,
            result=values.outcome,
            key_ids=None if values.key is None else tuple(key.id for key in keys if key.name == values.key),
            since=_begin_of(values.since) if values.since else None,
            until=_begin_of(values.until) + timedelta(days=1) if values.until else None,
        )
        if values.order is None:
            found = uow.journal.list_stored(now=now, limit=PAGE + 1, before=values.before, matching=matching)
        else:
            found = uow.journal.list_sorted(
                values.order,
                is_descending=values.sort is not None and values.sort.startswith("-"),
                now=now,
                limit=PAGE + 1,
                offset=PAGE * (values.page - 1),
                matching=matching,
            )
        rows = build_rows(found[:PAGE], find_energy_leads(uow, found[:PAGE]))
    older = newer = ""
    if len(found) > PAGE:
        last = found[PAGE - 1].summary.transfer_id
        older = filters.build_address(**({"before": last} if values.order is None else {"page": values.page + 1}))
    if values.before is not None:
        newer = filters.build_address(before=None)
    elif values.page > 1:
        newer = filters.build_address(page=values.page - 1)
    return TransferPage(rows, older, newer)


@router.get("/live")
def live(request: Request, visit: Signed, parts: Parts, sign_ins: SignInsOf) -> Response:
    """Stream the rows of the newest transfers whenever they change."""

    def render() -> str:
        now = parts.clock.now()
        with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
            found = uow.journal.list_stored(now=now, limit=PAGE)
            rows = build_rows(found, find_energy_leads(uow, found))
        return render_fragment("transfer_rows.html", rows=rows, now=now)

    return stream_changes(request, visit, sign_ins, render)


@router.get("/{transfer_id}/live")
def live_transfer(request: Request, transfer_id: UUID, visit: Signed, parts: Parts, sign_ins: SignInsOf) -> Response:
    """Stream a transfer's measures and timeline with every tick."""

    def render() -> str:
        return render_fragment("timeline.html", **_build_context(parts, visit, transfer_id), now=parts.clock.now())

    return stream_changes(request, visit, sign_ins, render)


@router.get("/{transfer_id}")
def transfer_page(request: Request, transfer_id: UUID, visit: Signed, parts: Parts) -> Response:
    """Show what was expected of a transfer, what it reached, and its timeline."""
    return render_page(request, "transfer.html", visit, **_build_context(parts, visit, transfer_id))


def _build_context(parts: Parts, visit: Signed, transfer_id: UUID) -> dict[str, Any]:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        known = uow.journal.get(transfer_id, now=parts.clock.now())
        after = max(-1, known.summary.journalled_sequence - MOST_SAMPLES)
        samples = uow.journal.list_samples(known.summary, after=after, limit=MOST_SAMPLES)
        leads = find_energy_leads(uow, [known])
        has_failed = known.summary.status in (Status.FAILED, Status.CANCELLED)
        files = uow.journal.count_files(known.summary) if has_failed else None
        basis = uow.endpoints.choose_energy_basis((known.summary.source, known.summary.destination))
    return {
        "transfer": known.summary,
        "row": build_row(known, leads.get(transfer_id)),
        "enquiry": known.request,
        "expected": known.expected,
        "outcome": describe_outcome(known, basis),
        "failure": explain_failure(known.summary, files) if has_failed else "",
        "samples": samples,
        "timeline": encode_chart(build_timeline(samples, _list_levels(known))),
        "has_power": any(each.power_w is not None for each in samples),
    }


def _list_levels(known: StoredTransfer) -> Sequence[Level]:
    """Return the levels of throughput: what was expected, then what was promised."""
    found, target = [], find_target_bps(known)
    if known.expected is not None:
        rate = known.expected.predicted.throughput_bps
        band = (rate.low / MBIT, rate.high / MBIT)
        found.append(Level(name="expected", value=rate.mean / MBIT, band=band))
    if target is not None:
        found.append(Level(name="promised", value=target / MBIT, is_target=True))
    return found
