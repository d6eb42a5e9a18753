"""``--when`` and ``--deadline`` of a copy: start it now, or when electricity is cheapest or cleanest."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import options

if TYPE_CHECKING:
    from tradewind_agent.grid.start_planner import StartRequest

CHOICES = "now|cheapest|greenest"


def build_start_request(
    *,
    when: Annotated[
        str | None,
        typer.Option(
            metavar=CHOICES,
            help="Start now, or at the hour of least cost or carbon that meets the deadline; reports both.",
        ),
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="TIME", help="By when it has to end: 6h, 07:00 or 2026-11-29T07:00+01:00.")
    ] = None,
) -> "StartRequest | None":
    """Return when the copy starts; ``None`` without either option."""
    if when is None and deadline is None:
        return None
    from tradewind.errors import InvalidValue
    from tradewind.grid.schedule import When
    from tradewind_agent.grid.deadline import parse_deadline
    from tradewind_agent.grid.start_planner import check_start

    if when is not None and when not in tuple(When):
        raise typer.BadParameter(f"is {CHOICES.replace('|', ', ')}", param_hint="--when")
    now = datetime.now(UTC)
    end = options.read_if("--deadline", lambda text: parse_deadline(text, now), deadline)
    try:
        return check_start(None if when is None else When(when), end)
    except InvalidValue as wrong:
        raise typer.BadParameter(wrong.reason, param_hint=wrong.field) from None
