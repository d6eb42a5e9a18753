"""The command tree, and the one place where errors become a line and an exit code."""

import os
import signal
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tradewind.errors import InvalidValue, TradewindError
from tradewind_agent.cli import environment
from tradewind_agent.cli.plain_values import without_validators
from tradewind_agent.cli.terminal import PROGRAM, PartlyDone, Terminal
from tradewind_agent.version import get_agent_version

COMMANDS = (
    "copy",
    "wrap",
    "recommend",
    "compress-advise",
    "logs",
    "connections",
    "serve-files",
    "transport",
    "meter",
    "devices",
    "endpoints",
    "regions",
    "sql",
    "usage",
    "statements",
    "releases",
    "login",
    "doctor",
)
"""In the order of the help; `cli.commands` has a module of that name, which registers it."""

FAILURE, WRONG_USAGE = 1, 2
VERSION_OPTION = "--version"
TRACE_VARIABLE = "TRADEWIND_TRACE"
TRACES_VARIABLES = "OTEL_EXPORTER_OTLP_"


class _Commands(TyperGroup):
    """The commands, with interrupts as errors: the framework would only set an exit code, without a message."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


def _drop_types_of_switches(command: Any) -> Any:
    """Return ``command`` with a help that names no type behind options without a value."""

    def drop_type(option: Any) -> Any:
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
        return option

    for option in command.params:
        drop_type(option)
    make_help = command.get_help_option  # built on each call, apart from the other options
    command.get_help_option = lambda context: drop_type(make_help(context))
    for each in getattr(command, "commands", {}).values():
        _drop_types_of_switches(each)
    return command


def build(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """Build the program with the commands of these names: each takes a while to load."""
    app = typer.Typer(
        name=PROGRAM,
        cls=_Commands,
        help="Move data with parameters learned from history, and learn from each transfer.",
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=False,
        rich_markup_mode=None,  # tables cut the names of values where the terminal is narrow
        invoke_without_command=True,
    )
    app.callback()(_run_without_command)
    for name in names:
        import_module(f"tradewind_agent.cli.commands.{name.replace('-', '_')}").register(app)
    return app


def _run_without_command(
    context: typer.Context,
    version: Annotated[bool, typer.Option(VERSION_OPTION, help="Print the version.")] = False,
) -> None:
    """Move data with parameters learned from history, and learn from each transfer."""
    if version:
        print(PROGRAM, get_agent_version() or "of a source tree")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        return
    environment.undo_abandoned_limits(Terminal())


def run(arguments: list[str]) -> int:
    """Run one command line and return the exit code: 0, 1 for failure, 2 for wrong usage, 128 + n for signal n."""
    try:
        first_word = next(iter(arguments), None)
        command = without_validators(_drop_types_of_switches(get_command(build(_choose_commands(arguments)))))
        with _trace_if_requested(first_word):
            return int(command(args=arguments, prog_name=PROGRAM, standalone_mode=False) or 0)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 -- the user gets a line; the trace is for the asking
        if os.environ.get(TRACE_VARIABLE):
            traceback.print_exc()
        done = error if isinstance(error, PartlyDone) else None
        line, code = _build_verdict((done and done.__cause__) or error)
        Terminal(json=_wants_json(arguments)).report_failure(line, code, done)
        return code


def _choose_commands(arguments: Sequence[str]) -> Sequence[str]:
    """Return the names of the commands that these arguments can mean."""
    if list(arguments) == [VERSION_OPTION]:
        return ()
    return arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS


def _trace_if_requested(first_word: str | None) -> AbstractContextManager[None]:
    """Trace the command if the environment requests it; otherwise load nothing for that."""
    if first_word not in COMMANDS or not any(name.startswith(TRACES_VARIABLES) for name in os.environ):
        return nullcontext()
    from tradewind_agent.cli.traces import is_tracing_requested, trace_command

    return trace_command(first_word) if is_tracing_requested(os.environ) else nullcontext()


def _wants_json(arguments: list[str]) -> bool:
    """Return whether the options include --json; nothing else is parsed, as the options may be what is wrong."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in own


def _format_usage_error(error: typer.TyperException) -> str:
    """Return what was wrong; for a group without a command, list its commands."""
    message = error.format_message() or "wrong usage; see `tradewind --help`"
    context = getattr(error, "ctx", None)
    commands = getattr(getattr(context, "command", None), "commands", {})
    return f"{message.removesuffix('.')}: {', '.join(commands)}" if message == "Missing command." else message


def _build_verdict(error: BaseException) -> tuple[str, int]:
    """Return the line and the exit code of an error."""
    match error:
        case typer.TyperException():
            return _format_usage_error(error), error.exit_code
        case InvalidValue():
            return str(error), WRONG_USAGE
        case TradewindError():
            return str(error), FAILURE
        case KeyboardInterrupt() | typer.Abort():
            return "stopped", 128 + signal.SIGINT
        case OSError():
            from tradewind_agent.system_errors import explain_os_error

            return f"{error.filename or 'system'}: {explain_os_error(error)}", FAILURE
        case _:
            return f"internal error: {error!r}; set {TRACE_VARIABLE}=1 and report what it prints", FAILURE
