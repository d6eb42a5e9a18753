"""The command line ``tradewind``: one module a group of commands, nothing loaded before it is needed."""

import gc
import signal
import sys

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Modules and the files of a listing live to the end: to look for garbage among them after every 700 objects, Python's
default, takes a sixth of the time that a command needs to start."""


UNWANTED_MODULE = "httpx._main"
"""The HTTP library's own command line: with what it draws on (rich) it takes longer to load than the library, which
does without where it cannot be imported."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    sys.modules.setdefault(UNWANTED_MODULE, None)  # type: ignore[arg-type]  # how Python is told that there is none
    try:
        from tradewind_agent.cli.app import run
    except KeyboardInterrupt:  # while it is loading
        sys.exit(128 + signal.SIGINT)
    sys.exit(run(sys.argv[1:]))
