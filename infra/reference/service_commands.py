"""The service's own commands, from the parsers that their ``--help`` describes."""

import argparse
from collections.abc import Iterator

from infra.reference.markdown import format_code, format_page, format_table
from services import backup, prepare
from services.backup import __main__ as backup_command

INTRODUCTION = """\
Commands that an operator runs on the host of the service: in the checkout by `.venv/bin/python -m …`, in Docker Compose
by `docker compose exec api python -m …`. All other work is done on the pages, over the [API](api.md), or by the
[agent's command line](command-line.md).

They read the service's [settings](settings.md#the-server). `prepare key`, `prepare login` and `backup` work with the
embedded PostgreSQL too, whether the service runs or not. `TRADEWIND_DATA` names its folder: `var` in a checkout, and
`var/sample` for the sample."""


def render_service_commands() -> str:
    """Return the page of the service's commands."""
    return format_page(
        "Service commands",
        INTRODUCTION,
        *_list_sections("services.prepare", prepare.build_parser()),
        *_list_sections(backup.__name__, backup_command.build_parser()),
    )


def _list_sections(module: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    actions = parser._actions  # noqa: SLF001 -- argparse lists what it has been given nowhere else
    commands = next(each for each in actions if isinstance(each, argparse._SubParsersAction))  # noqa: SLF001
    purposes = {each.dest: each.help or "" for each in commands._choices_actions}  # noqa: SLF001
    for name, command in commands.choices.items():
        heading = f"## python -m {module} {name}\n\n{_capitalize(purposes[name])}."
        rows = [
            (format_code(_format_signature(each)), _format_help(each))
            for each in command._actions  # noqa: SLF001
            if not isinstance(each, argparse._HelpAction)  # noqa: SLF001
        ]
        yield f"{heading}\n\n{format_table(('argument or option', 'meaning'), rows)}" if rows else heading


def _format_signature(action: argparse.Action) -> str:
    value = str(action.metavar or action.dest.upper())
    if action.choices is not None:
        value = "|".join(str(each) for each in action.choices)
    names = ", ".join(action.option_strings)
    if not names:
        return value
    return names if action.nargs == 0 else f"{names} {value}"


def _format_help(action: argparse.Action) -> str:
    values = {"default": action.default}
    return f"{_capitalize((action.help or '') % values)}."


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
