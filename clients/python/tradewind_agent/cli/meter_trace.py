"""``tradewind meter --trace FILE``: where the energy of a transfer went, by the trace of a power meter."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind.errors import InvalidTrace
    from tradewind_agent.meters.power_trace import PowerTrace


_OPTIONS = {"ended_s": "--ended", "time_s": "--began, --ended", "base_power_w": "--began"}
"""By the field of a domain error."""


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """``started_s``, ``finished_s`` : of the transfer on the trace's clock, where one is meant; ``moved_bytes`` by it;
    ``tail_s`` : how long its radio stays in high power afterwards, else to the end of the trace."""

    file: Path
    started_s: float | None
    finished_s: float | None
    moved_bytes: int | None
    tail_s: float | None

    @property
    def is_of_a_transfer(self) -> bool:
        return self.started_s is not None


def build_trace_options(
    *,
    trace: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Trace of a power meter: columns of time and power, W or mW.")
    ] = None,
    began: Annotated[str | None, typer.Option(metavar="T", help="Of --trace: when the transfer began.")] = None,
    ended: Annotated[str | None, typer.Option(metavar="T", help="Of --trace: when it ended.")] = None,
    moved: Annotated[str | None, typer.Option(metavar="SIZE", help="Of --trace: what it moved.")] = None,
    tail: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Of --trace: the radio's tail after it.", show_default="to the trace's end"),
    ] = None,
) -> TraceOptions | None:
    """Return the options of a trace; ``None`` where no trace is given."""
    of_the_transfer = {"--moved": moved, "--tail": tail}
    if trace is None:
        given = {"--began": began, "--ended": ended} | of_the_transfer
        if alone := next((name for name, text in given.items() if text), None):
            raise typer.BadParameter("needs --trace", param_hint=alone)
        return None
    if (began is None) != (ended is None):
        raise typer.BadParameter("go together: a transfer has a beginning and an end", param_hint="--began, --ended")
    if began is None and (alone := next((name for name, text in of_the_transfer.items() if text), None)):
        raise typer.BadParameter("is of a transfer: say when, by --began and --ended", param_hint=alone)
    return TraceOptions(
        trace,
        _parse_moment_s("--began", began),
        _parse_moment_s("--ended", ended),
        options.parse_positive_size_if("--moved", moved),
        None if tail is None else options.parse_duration_s("--tail", tail),
    )


def read_trace(path: Path, *, still_written: bool = False) -> "PowerTrace":
    """Read the trace in a file; if it is ``still_written``, leave out a last line without an end.

    Raises
    ------
    InvalidTrace, TooFewSamples : with the file's name.
    """
    from tradewind.errors import InvalidTrace
    from tradewind_agent.meters.power_trace import read_power_trace

    try:
        written = path.read_bytes()
        return read_power_trace((written[: written.rfind(b"\n") + 1] if still_written else written).decode())
    except InvalidTrace as wrong:
        raise type(wrong)(str(path), wrong.reason) from None
    except UnicodeDecodeError:
        raise InvalidTrace(str(path), "is not UTF-8 text; export it as CSV") from None


def report_corrections(terminal: Terminal, path: Path, trace: "PowerTrace") -> None:
    """Note what was corrected when the trace was read."""
    for note in trace.notes:
        terminal.note(f"{path}: {note}")


def split_trace(terminal: Terminal, request: TraceOptions) -> None:
    """Report the energy of the trace, split if a transfer is named."""
    from tradewind.energy.measured import compute_total_energy_j
    from tradewind.units import format_joules

    trace = read_trace(request.file)
    report_corrections(terminal, request.file, trace)
    duration_s = trace.time_s[-1] - trace.time_s[0]
    total_j = compute_total_energy_j(trace.time_s, trace.power_w)
    document: dict[str, object] = {
        "method": "meter",
        "samples": len(trace.time_s),
        "duration_s": duration_s,
        "total_j": total_j,
        "notes": list(trace.notes),
    }
    text = f"{format_joules(total_j)} in {duration_s:.1f} s, {total_j / duration_s:.2f} W on average (meter, measured)"
    if request.started_s is not None and request.finished_s is not None:
        text, of_the_transfer = _split_transfer(trace, request, request.started_s, request.finished_s)
        document |= of_the_transfer
    terminal.print_result(text, document)


def _split_transfer(
    trace: "PowerTrace", request: TraceOptions, started_s: float, finished_s: float
) -> tuple[str, dict[str, object]]:
    """Return the energy of the transfer, as text and as a document."""
    from tradewind.errors import InvalidTrace
    from tradewind.mobile.energy_split import UNIT_LABELS, UNITS_BYTES, split_power_trace
    from tradewind.units import format_joules

    try:
        split = split_power_trace(
            trace.time_s, trace.power_w, started_s=started_s, ended_s=finished_s, tail_s=request.tail_s
        )
    except InvalidTrace as wrong:
        raise _to_option_error(wrong, trace) from None
    recorded_s = trace.time_s[-1] - finished_s
    tail_s = recorded_s if request.tail_s is None else min(request.tail_s, recorded_s)
    document: dict[str, object] = {"transfer": split.to_dict() | {"total_j": split.total_j, "tail_s": tail_s}}
    tail = "its tail unknown: the trace ends with it"
    if split.tail_j is not None:
        cut = (
            ""
            if request.tail_s is None or request.tail_s <= recorded_s
            else f", where the trace ends before {request.tail_s:g} s"
        )
        tail = f"{format_joules(split.tail_j)} of tail in the {tail_s:.1f} s after it{cut}"
    text = (
        f"{format_joules(split.total_j)} while it ran: {format_joules(split.base_j)} base, "
        f"{format_joules(split.dynamic_j)} dynamic; {tail}"
    )
    for name, unit_bytes in UNITS_BYTES.items() if request.moved_bytes else ():
        assert request.moved_bytes is not None
        share = split.compute_per_unit(unit_bytes, request.moved_bytes)
        document[name] = share.to_dict()
        of_tail = "" if share.tail_j is None else f", {format_joules(share.tail_j)} tail"
        text += f"\n{UNIT_LABELS[name]}: {format_joules(share.dynamic_j)} dynamic{of_tail}"
    return text, document


def _to_option_error(wrong: "InvalidTrace", trace: "PowerTrace") -> typer.BadParameter:
    """Convert an error about the transfer to one about the options."""
    reason = wrong.reason
    if wrong.field == "time_s":
        span = f"from {format_moment(trace.time_s[0])} to {format_moment(trace.time_s[-1])}"
        reason = f"the trace goes {span}, which the transfer is not within"
    return typer.BadParameter(reason, param_hint=_OPTIONS[wrong.field])


def format_moment(moment_s: float) -> str:
    """Format a time as the trace has it: a date, or seconds from an origin."""
    from tradewind_agent.meters.power_trace import DATES_FROM_S

    if moment_s < DATES_FROM_S:
        return f"{moment_s:.3f} s"
    return datetime.fromtimestamp(moment_s).astimezone().isoformat(timespec="milliseconds")


def _parse_moment_s(option: str, text: str | None) -> float | None:
    """Parse seconds as the trace has them, or a time of RFC 3339."""
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
