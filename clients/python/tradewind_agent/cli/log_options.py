"""Options about logs of other programs: what old logs lack, and how to read what may be read in two ways."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from tradewind.errors import InvalidValue
from tradewind_agent.cli import options
from tradewind_agent.cli.option_groups import GroupOf

if TYPE_CHECKING:
    from tradewind_agent.history.importers.ports import DateOrder, DecimalMark, ImportContext

Source = Annotated[str | None, typer.Option(help="Endpoint that sent, if the log does not say.")]
Destination = Annotated[str | None, typer.Option(help="Endpoint that received, if the log does not say.")]
Timezone = Annotated[
    str | None, typer.Option(metavar="ZONE", help="Zone of times written without one, such as Europe/Berlin.")
]
Mover = Annotated[str | None, typer.Option(help="Program that moved the bytes, if the log does not say.")]


Start = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Start of the first row, if the log has no times; its year, if it has no years."),
]
Units = Annotated[
    list[str] | None,
    typer.Option("--unit", metavar="COLUMN=UNIT", help="Unit of a column of a CSV log, such as size=MB. May repeat."),
]
Decimal = Annotated[
    str | None, typer.Option(metavar="MARK", help="Decimal mark of a CSV log, if it may be either: point or comma.")
]
DateOrders = Annotated[
    str | None,
    typer.Option(metavar="ORDER", help="Order of dates of a CSV log such as 03/01/2026: dmy, mdy or ymd."),
]
Aliases = Annotated[
    list[str] | None,
    typer.Option(
        "--alias",
        metavar="PATTERN=NAME",
        help="Name of endpoints that fit a pattern or a network, such as 192.0.2.*=pool. May repeat.",
    ),
]


def build_import_context(
    *,
    source: Source = None,
    destination: Destination = None,
    bandwidth: options.Bandwidth = None,
    rtt: options.Rtt = None,
    timezone: Timezone = None,
    mover: Mover = None,
    network: options.Network = None,
    start: Start = None,
    unit: Units = None,
    decimal: Decimal = None,
    date_order: DateOrders = None,
    alias: Aliases = None,
) -> "ImportContext":
    """Return the values that old logs lack."""
    from tradewind_agent.history.importers.ports import ImportContext

    return ImportContext(
        source=source,
        destination=destination,
        bandwidth_bps=options.parse_bandwidth_bps(bandwidth),
        rtt_s=options.parse_rtt_s(rtt),
        timezone=_find_zone(timezone),
        mover=mover,
        network=network,
        started_at=options.read_if("--start", _parse_start, start),
        units=_parse_units(unit or []),
        decimal=_parse_decimal(decimal),
        date_order=_parse_date_order(date_order),
        aliases=_parse_aliases(alias or []),
    )


Context = Annotated["ImportContext", GroupOf(build_import_context)]


def _parse_start(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidValue("--start", f"{text[:40]!r} is no time such as 2024-05-01T00:00:00Z") from None


def _parse_units(texts: list[str]) -> dict[str, str]:
    pairs = [text.rpartition("=") for text in texts]
    if wrong := next((text for text, (name, _, unit) in zip(texts, pairs, strict=True) if not (name and unit)), None):
        raise typer.BadParameter(f"is COLUMN=UNIT, such as size=MB; got {wrong!r}", param_hint="--unit")
    return {name.strip(): unit.strip() for name, _, unit in pairs}


def _parse_aliases(texts: list[str]) -> dict[str, str]:
    from tradewind_agent.history.importers.endpoints import parse_aliases

    try:
        return parse_aliases(texts)
    except InvalidValue as wrong:
        raise typer.BadParameter(wrong.reason, param_hint=wrong.field) from None


def _parse_decimal(text: str | None) -> "DecimalMark | None":
    from tradewind_agent.history.importers.ports import DecimalMark

    if text is not None and text not in tuple(DecimalMark):
        raise typer.BadParameter(f"is point or comma; got {text!r}", param_hint="--decimal")
    return None if text is None else DecimalMark(text)


def _parse_date_order(text: str | None) -> "DateOrder | None":
    from tradewind_agent.history.importers.ports import DateOrder

    if text is not None and text.lower() not in tuple(DateOrder):
        raise typer.BadParameter(f"is dmy, mdy or ymd; got {text!r}", param_hint="--date-order")
    return None if text is None else DateOrder(text.lower())


def _find_zone(name: str | None) -> ZoneInfo | None:
    try:
        return None if name is None else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise typer.BadParameter(f"unknown time zone {name!r}", param_hint="--timezone") from None
