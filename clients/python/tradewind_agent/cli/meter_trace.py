"""``tradewind meter --trace FILE``: where the energy of a transfer went, by the trace of a power meter."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind_agent.meters.power_trace import PowerTrace


@dataclass(frozen=True, slots=True)
class TraceWish:
    """``began_s``, ``ended_s`` : of the transfer on the trace's clock, where one is meant; ``moved_bytes`` by it."""

    file: Path
    began_s: float | None
    ended_s: float | None
    moved_bytes: int | None


def trace_wish(
    *,
    trace: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Trace of a power meter: columns of time and power, W or mW.")
    ] = None,
    began: Annotated[str | None, typer.Option(metavar="T", help="Of --trace: when the transfer began.")] = None,
    ended: Annotated[str | None, typer.Option(metavar="T", help="Of --trace: when it ended.")] = None,
    moved: Annotated[str | None, typer.Option(metavar="SIZE", help="Of --trace: what it moved.")] = None,
) -> TraceWish | None:
    """What is asked of a trace; ``None`` where none is given."""
    if trace is None:
        if alone := next(
            (name for name, text in (("--began", began), ("--ended", ended), ("--moved", moved)) if text), None
        ):
            raise typer.BadParameter("goes with --trace", param_hint=alone)
        return None
    if (began is None) != (ended is None):
        raise typer.BadParameter("go together: a transfer has a beginning and an end", param_hint="--began, --ended")
    return TraceWish(
        trace, _moment_s("--began", began), _moment_s("--ended", ended), options.positive_size_if("--moved", moved)
    )


def read_trace(terminal: Terminal, path: Path) -> "PowerTrace":
    """The trace of a file; what was mended is told."""
    from tradewind.errors import InvalidTrace
    from tradewind_agent.meters.power_trace import read_power_trace

    try:
        trace = read_power_trace(path.read_text(encoding="utf-8"))
    except InvalidTrace as wrong:
        raise InvalidTrace(str(path), wrong.reason) from None
    except UnicodeDecodeError:
        raise InvalidTrace(str(path), "is not UTF-8 text; export it as CSV") from None
    for note in trace.notes:
        terminal.note(f"{path}: {note}")
    return trace


def split_trace(terminal: Terminal, wish: TraceWish) -> None:
    """Tell the energy of the trace, split where a transfer is named."""
    from tradewind.energy import total_energy_j
    from tradewind.mobile.energy_split import UNITS_BYTES, traced_split
    from tradewind.units import format_joules

    trace = read_trace(terminal, wish.file)
    duration_s = trace.time_s[-1] - trace.time_s[0]
    total_j = total_energy_j(trace.time_s, trace.power_w)
    document: dict[str, object] = {
        "method": "meter",
        "samples": len(trace.time_s),
        "duration_s": duration_s,
        "total_j": total_j,
        "notes": list(trace.notes),
    }
    text = f"{format_joules(total_j)} in {duration_s:.1f} s, {total_j / duration_s:.2f} W on average (meter, measured)"
    if wish.began_s is not None and wish.ended_s is not None:
        split = traced_split(trace.time_s, trace.power_w, started_s=wish.began_s, ended_s=wish.ended_s)
        parts = {"base_j": split.base_j, "dynamic_j": split.dynamic_j, "tail_j": split.tail_j}
        document["transfer"] = parts | {"total_j": split.total_j}
        text = (
            f"{format_joules(split.total_j)} while it ran: {format_joules(split.base_j)} base, "
            f"{format_joules(split.dynamic_j)} dynamic; {format_joules(split.tail_j)} of tail after it"
        )
        for name, unit_bytes in UNITS_BYTES.items() if wish.moved_bytes else ():
            assert wish.moved_bytes is not None
            share = split.per(unit_bytes, wish.moved_bytes)
            document[name] = {"base_j": share.base_j, "dynamic_j": share.dynamic_j, "tail_j": share.tail_j}
            unit = name.replace("_", " ")
            text += f"\n{unit}: {format_joules(share.dynamic_j)} dynamic, {format_joules(share.tail_j)} tail"
    terminal.result(text, document)


def _moment_s(option: str, text: str | None) -> float | None:
    """Seconds as the trace has them, or a time of RFC 3339."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        try:
            return datetime.fromisoformat(text).timestamp()
        except ValueError:
            raise typer.BadParameter(
                f"{text!r} is neither seconds as in the trace nor a time of RFC 3339", param_hint=option
            ) from None
