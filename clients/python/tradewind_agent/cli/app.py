"""The command tree, and the one place where errors become a line and an exit code."""

import os
import signal
import traceback
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
    "sql",
    "usage",
    "releases",
    "login",
    "doctor",
)
"""In the order of the help; `cli.commands` has a module of that name, which registers it."""

FAILURE, WRONG_USAGE = 1, 2
TRACE_VARIABLE = "TRADEWIND_TRACE"
TRACES_VARIABLES = "OTEL_EXPORTER_OTLP_"


class _Commands(TyperGroup):
    """The commands; the framework would make an interrupt a bare exit code, without a line or a document."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


def _without_types_of_switches(command: Any) -> Any:
    """``command``, whose help names no type behind options that take no value."""

    def silent(option: Any) -> Any:
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
        return option

    for option in command.params:
        silent(option)
    make_help = command.get_help_option  # made anew each time, beside the other options
    command.get_help_option = lambda context: silent(make_help(context))
    for each in getattr(command, "commands", {}).values():
        _without_types_of_switches(each)
    return command


def build(first_word: str | None = None) -> typer.Typer:
    """The command of that name; all of them where there is none: to load and describe those takes a while."""
    app = typer.Typer(
        name=PROGRAM,
        cls=_Commands,
        help="Move data with parameters learned from history, and learn from each transfer.",
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=False,
        invoke_without_command=True,
    )
    app.callback()(_alone)
    for name in (first_word,) if first_word in COMMANDS else COMMANDS:
        import_module(f"tradewind_agent.cli.commands.{name.replace('-', '_')}").register(app)
    return app


def _alone(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Move data with parameters learned from history, and learn from each transfer."""
    if version:
        from tradewind_agent.copy.run import get_agent_version

        print(PROGRAM, get_agent_version() or "of a source tree")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        return
    environment.undo_abandoned_limits(Terminal())


def run(arguments: list[str]) -> int:
    """Run one command line; the exit code: 0, 1 for failure, 2 for wrong usage, 128 + n for signal n."""
    try:
        first_word = next(iter(arguments), None)
        command = without_validators(_without_types_of_switches(get_command(build(first_word))))
        with _traced(first_word):
            return int(command(args=arguments, prog_name=PROGRAM, standalone_mode=False) or 0)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 -- the user gets a line; the trace is for the asking
        if os.environ.get(TRACE_VARIABLE):
            traceback.print_exc()
        done = error if isinstance(error, PartlyDone) else None
        line, code = _verdict((done and done.__cause__) or error)
        Terminal(json=_wants_json(arguments)).failure(line, code, done)
        return code


def _traced(first_word: str | None) -> AbstractContextManager[None]:
    """Of a command that is to be traced; all others load nothing for it."""
    if first_word not in COMMANDS or not any(name.startswith(TRACES_VARIABLES) for name in os.environ):
        return nullcontext()
    from tradewind_agent.cli.traces import is_tracing_requested, traced

    return traced(first_word) if is_tracing_requested(os.environ) else nullcontext()


def _wants_json(arguments: list[str]) -> bool:
    """Whether the options say so; they may be what is wrong, so that nothing else of them is read."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in own


def _usage_told(error: typer.TyperException) -> str:
    """What was wrong; a group that was given no command tells those that it has."""
    told = error.format_message() or "wrong usage; see `tradewind --help`"
    context = getattr(error, "ctx", None)
    commands = getattr(getattr(context, "command", None), "commands", {})
    return f"{told.removesuffix('.')}: {', '.join(commands)}" if told == "Missing command." else told


def _verdict(error: BaseException) -> tuple[str, int]:
    """The line and the exit code that an error means."""
    match error:
        case typer.TyperException():
            return _usage_told(error), error.exit_code
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
