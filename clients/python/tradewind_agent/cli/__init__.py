"""The command line ``tradewind``: one module a group of commands, nothing loaded before it is needed."""

import atexit
import os
import signal
import sys
import threading
from io import TextIOWrapper

from tradewind_agent.cli.quick_start import collect_seldom

UNWANTED_MODULE = "httpx._main"
"""The HTTP library's own command line: with what it draws on (rich) it takes longer to load than the library, which
does without where it cannot be imported."""


NO_PLUGINS = ("PYDANTIC_DISABLE_PLUGINS", "__all__")
"""Keeps pydantic from looking for plugins of its own in every package that is installed."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    _open_closed_streams()
    _escape_unprintable()
    collect_seldom()
    os.environ.setdefault(*NO_PLUGINS)
    sys.modules.setdefault(UNWANTED_MODULE, None)  # type: ignore[arg-type]  # makes Python treat it as missing
    try:
        from tradewind_agent.cli.app import run
    except KeyboardInterrupt:  # while it is loading
        sys.exit(128 + signal.SIGINT)
    _leave(run(sys.argv[1:]))


def _open_closed_streams() -> None:
    """Open streams that the shell has closed (``>&-``) on nothing: else a file or connection gets their numbers."""
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


def _escape_unprintable() -> None:
    """Write characters that the locale lacks as escapes: names of files may have any."""
    for stream in (sys.stdout, sys.stderr):
        is_any_printed = stream.errors != "strict" and stream.encoding.lower() == "utf-8"
        if not is_any_printed and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave(code: int) -> None:
    """End the process once all that the interpreter would wait for is done, without taking its objects apart.

    That takes longer than all else between the last byte of a copy and its end.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001  # nothing public runs them but the end of the interpreter
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # the interpreter says so, in its own words and exit code
        sys.exit(code)
    os._exit(code)
