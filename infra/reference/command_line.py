"""The agent's commands, from the tree that ``tradewind --help`` describes."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

from infra.reference.markdown import format_code, format_page, format_table
from tradewind_agent.cli.app import build

PROGRAM = "tradewind"
NOTES = re.compile(r"\s*\[((?:default|env var|required|\d|x[<>=])[^\]]*)\]$")
"""What a help record says after its sentence: a default, a range, or that a value is required."""

TYPES = re.compile(r" <(?:str|list\[str\]|int|float|file|dir|path|int range|float range)>")
"""Types that a signature names; they say nothing that the meaning and the range do not."""

INTRODUCTION = """\
Every command of the agent, with its arguments and options. `tradewind COMMAND --help` prints them too.

- Exit status: 0 for success, 1 for a failure, 2 for wrong usage, 130 after an interrupt. A copy also ends with 130 on
  SIGTERM or a hang-up; other commands end by these signals. `wrap` and `copy --mover` end with their tool's status.
- With `--json` the result is one JSON document on standard output. A failure is
  `{"error": "…", "exit_code": 1}`.
- Rates, times, sizes, energies and powers are written with their unit: `500Mbps`, `60ms`, `2GiB`, `4kJ`, `12W`.
- Variables of the environment are listed under [settings](settings.md#the-agent)."""


def render_command_line() -> str:
    """Return the page of all commands."""
    return format_page("Command line", INTRODUCTION, *_list_sections(get_command(build()), PROGRAM))


def _list_sections(group: Any, path: str) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        full = f"{path} {name}"
        if commands := getattr(command, "commands", None):
            rows = (
                (f"[`{full} {each}`](#{_format_anchor(f'{full} {each}')})", _format_help(commands[each]))
                for each in commands
            )
            yield f"## {full}\n\n{_format_help(command)}\n\n" + format_table(("command", "purpose"), rows)
            yield from _list_sections(command, full)
        else:
            parts = (
                f"## {full}",
                _format_help(command),
                _format_usage(command, full),
                _format_parameters(command, full),
            )
            yield "\n\n".join(parts)


def _format_help(command: Any) -> str:
    return " ".join((command.help or "").split())


def _format_usage(command: Any, full: str) -> str:
    pieces = command.collect_usage_pieces(typer.Context(command, info_name=full))
    return f"    {full} {' '.join(pieces)}"


def _format_parameters(command: Any, full: str) -> str:
    context = typer.Context(command, info_name=full)
    records = (each.get_help_record(context) for each in command.get_params(context) if "--help" not in each.opts)
    return format_table(
        ("argument or option", "meaning", "default, range"), (_build_line(*record) for record in records if record)
    )


def _build_line(signature: str, help_text: str) -> tuple[str, str, str]:
    found = NOTES.search(help_text)
    notes = found[1].removeprefix("default: ").replace("; ", ", ") if found else ""
    return format_code(TYPES.sub("", signature)), NOTES.sub("", help_text), notes


def _format_anchor(heading: str) -> str:
    return heading.replace(" ", "-")
