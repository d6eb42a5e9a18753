"""``tradewind compress-advise``: whether and how a file should be compressed on its way."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tradewind.compression.advice import Objective
from tradewind_agent.cli import environment, options
from tradewind_agent.cli.option_groups import expand_groups
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind.compression.codecs import Codec
    from tradewind.compression.model import NetworkLine
    from tradewind.compression.probe import FittedLine
    from tradewind.wire.compression import AdviceAnswer, WireOption

SHOWN_OPTIONS = 8


def register(app: typer.Typer) -> None:
    app.command("compress-advise")(compress_advise)


@expand_groups
def compress_advise(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="File to be sent, or one like those to be fetched."
        ),
    ],
    *,
    to: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="Server to probe the way to, a writable serve-files.")
    ] = None,
    come_from: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="File on a server to probe the way from."),
    ] = None,
    bandwidth: options.Bandwidth = None,
    setup: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --bandwidth: what any transfer on the path costs, such as 300ms."),
    ] = None,
    objective: Annotated[Objective, typer.Option(help="What is to be best.")] = Objective.MAX_THROUGHPUT,
    sequential: Annotated[bool, typer.Option("--sequential", help="Consider packing all before sending, too.")] = False,
    as_json: options.Json = False,
) -> None:
    """Advise a codec, a level and a mode for a file on a path, from a sample of it and from history."""
    from tradewind_agent.compression.advising import advise_on_file

    terminal = Terminal(as_json)
    rate_bps = options.parse_bandwidth_bps(bandwidth)
    if sum(way is not None for way in (to, come_from, rate_bps)) != 1:
        raise typer.BadParameter("give exactly one of them to say which path", param_hint="--to, --from or --bandwidth")
    if setup is not None and rate_bps is None:
        raise typer.BadParameter("needs --bandwidth: a probe measures it", param_hint="--setup")
    if file.stat().st_size == 0:
        raise typer.BadParameter("is empty", param_hint="FILE")
    way = _probe_way(to, come_from, terminal) if rate_bps is None else _parse_stated_way(rate_bps, setup or "0s")
    client = environment.open_client_if_configured()
    try:
        answer, because = advise_on_file(
            file,
            way.line,
            client=client,
            codecs=way.codecs,
            packing_setup_s=way.packing_setup_s,
            objective=objective,
            sequential=sequential,
        )
    finally:
        if client is not None:
            client.close()
    if because:
        terminal.note(because)
    document = answer.model_dump(mode="json", exclude_none=True) | {
        "line": {"bandwidth_bps": way.line.rate_bps, "setup_s": way.line.setup_s}
    }
    terminal.print_result(_format_advice(answer), document)


class _Way(NamedTuple):
    """``codecs`` : of both ends, as far as known. ``packing_setup_s`` : of a packed transfer, added to the line's."""

    line: "NetworkLine"
    codecs: "frozenset[Codec]"
    packing_setup_s: float = 0.0


def _probe_way(to: str | None, come_from: str | None, terminal: Terminal) -> _Way:
    from tradewind_agent.compression.codecs import list_available_codecs
    from tradewind_agent.compression.packed.path_probe import estimate_query_s, probe_download_line, probe_upload_line

    if to is not None:
        probed, codecs = probe_upload_line(to)
        line = _report_line(probed, terminal)
        return _Way(line, codecs, estimate_query_s(line))
    assert come_from is not None
    return _Way(_report_line(probe_download_line(come_from), terminal), list_available_codecs())


def _parse_stated_way(rate_bps: float, setup: str) -> _Way:
    from tradewind.compression.model import NetworkLine
    from tradewind.units import parse_seconds
    from tradewind.wire.compression import MAX_SETUP_S
    from tradewind_agent.compression.codecs import list_available_codecs

    line = NetworkLine(rate_bps, options.read("--setup", parse_seconds, setup))
    if line.setup_s > MAX_SETUP_S:
        reason = f"must be {MAX_SETUP_S:g} s at most, got {line.setup_s:g}"
        raise typer.BadParameter(reason, param_hint="--setup")
    return _Way(line, list_available_codecs())


def _report_line(probed: "FittedLine", terminal: Terminal) -> "NetworkLine":
    """Return the line that a probe found, and note its uncertainty on the terminal."""
    from tradewind.units import format_bps

    line = probed.line
    rate = f"{format_bps(line.rate_bps)} ± {100 * probed.rate_relative_error:.2g} %"
    terminal.note(f"the path by a probe: {rate}, {line.setup_s:.3f} ± {probed.setup_error_s:.3f} s to begin")
    return line


def _format_advice(answer: "AdviceAnswer") -> str:
    lines = [answer.rationale, f"from {answer.source}"]
    return "\n".join([*lines, *map(_format_option, answer.options[:SHOWN_OPTIONS])])


def _format_option(option: "WireOption") -> str:
    from tradewind.units import format_bps, format_joules

    name = "raw" if option.codec is None else f"{option.codec}:{option.level} {option.mode}"
    rate = option.throughput_bps
    return (
        f"  {name:<22} {option.ratio:5.2f} to 1, {option.duration_s:8.2f} s, {format_bps(rate.mean)}"
        f" ({format_bps(rate.low)} – {format_bps(rate.high)}), {format_joules(option.energy_j)}"
    )
