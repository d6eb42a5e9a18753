"""*Transfers*: live and past ones, with what was measured and decided, and why."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Self
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import BeforeValidator, Field, model_validator

from services.admin.charts.timeline import Level, build_timeline
from services.admin.events import stream_changes
from services.admin.pages.sla_outcomes import describe_outcome, find_target_bps
from services.admin.rendering import ONE_LINE, build_page_router, encode_chart, render_fragment, render_page
from services.admin.visitors import Parts, Signed, SignInsOf
from services.application.transfers.repository import StoredTransfer, TransferFilter
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import SlaKind
from tradewind.units import MBIT
from tradewind.wire.base import EARLIEST_INSTANT, END_OF_INSTANTS, MAX_NAME_LENGTH, Strict
from tradewind.wire.inventory import Key
from tradewind.wire.transfers import TransferState, TransferSummary

router = build_page_router("/transfers")

PAGE = 50
MOST_SAMPLES = 2_000
"""Newest samples on one page."""

Line = Annotated[str, Field(max_length=MAX_NAME_LENGTH, pattern=ONE_LINE)]
Day = Annotated[date, Field(ge=EARLIEST_INSTANT.date(), lt=END_OF_INSTANTS.date())]
Empty = BeforeValidator(lambda sent: sent or None)
"""A field of a form that nobody has filled in."""


class TransferListFilters(Strict):
    """The filters of the list. Days are full days of UTC."""

    state: Annotated[TransferState | None, Empty] = None
    source: Annotated[Line | None, Empty] = None
    destination: Annotated[Line | None, Empty] = None
    sla: Annotated[SlaKind | None, Empty] = None
    key: Annotated[Line | None, Empty] = None
    since: Annotated[Day | None, Empty] = None
    until: Annotated[Day | None, Empty] = None
    before: UUID | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.since and self.until and self.until < self.since:
            raise InvalidValue("until", f"is before since, {self.since}")
        return self

    def build_filter(self, keys: Sequence[Key]) -> TransferFilter:
        """Return the same filters for the store.

        Raises
        ------
        InvalidValue : no key has that name.
        """
        return TransferFilter(
            state=self.state,
            source=self.source,
            destination=self.destination,
            sla=self.sla,
            key_ids=_find_key_ids(keys, self.key) if self.key else None,
            since=_begin_of(self.since) if self.since else None,
            until=_begin_of(self.until) + timedelta(days=1) if self.until else None,
        )

    def build_address(self, **changed: object) -> str:
        """Return the address of the list with the same filters and these changes."""
        values = {name: value for name, value in {**dict(self), **changed}.items() if value}
        return f"?{urlencode(values)}"


def _find_key_ids(keys: Sequence[Key], name: str) -> tuple[UUID, ...]:
    found = tuple(key.id for key in keys if key.name == name)
    if not found:
        raise InvalidValue("key", f"there is no key {name}")
    return found


def _begin_of(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


@router.get("")
def transfers_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    *,
    filters: Annotated[TransferListFilters, Query()],
) -> Response:
    """List transfers, the newest first; without filters the list follows live transfers."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        keys = sorted(uow.keys.list_all(), key=lambda key: key.name.casefold())
        found = uow.journal.list_page(
            now=parts.clock.now(), limit=PAGE + 1, before=filters.before, matching=filters.build_filter(keys)
        )
    more = found[PAGE - 1].transfer_id if len(found) > PAGE else None
    return render_page(
        request,
        "transfers.html",
        visit,
        transfers=found[:PAGE],
        more=more and filters.build_address(before=more),
        states=tuple(TransferState),
        kinds=tuple(SlaKind),
        key_names=list(dict.fromkeys(key.name for key in keys)),
        filters=filters,
        follows=filters == TransferListFilters(),
    )


@router.get("/live")
def live(request: Request, visit: Signed, parts: Parts, sign_ins: SignInsOf) -> Response:
    """Stream the rows of the newest transfers whenever they change."""

    def list_newest() -> Sequence[TransferSummary]:
        with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
            return uow.journal.list_page(now=parts.clock.now(), limit=PAGE)

    def render() -> str:
        return render_fragment("transfer_rows.html", transfers=list_newest(), now=parts.clock.now())

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
        basis = uow.endpoints.choose_energy_basis((known.summary.source, known.summary.destination))
    return {
        "transfer": known.summary,
        "enquiry": known.request,
        "expected": known.expected,
        "outcome": describe_outcome(known, basis),
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
