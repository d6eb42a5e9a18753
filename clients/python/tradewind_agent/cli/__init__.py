"""The command line ``tradewind``: one module a group of commands, nothing loaded before it is needed."""

import gc
import signal
import sys

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Modules and the files of a listing live to the end: to look for garbage among them after every 700 objects, Python's
default, takes a sixth of the time that a command needs to start."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        from tradewind_agent.cli.app import run
    except KeyboardInterrupt:  # while it is loading
        sys.exit(128 + signal.SIGINT)
    sys.exit(run(sys.argv[1:]))
