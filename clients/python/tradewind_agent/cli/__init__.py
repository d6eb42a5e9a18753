"""The command line ``tradewind``: one module a group of commands, nothing loaded before it is needed."""

import signal
import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from tradewind_agent.cli.app import run
    except KeyboardInterrupt:  # while it is loading
        sys.exit(128 + signal.SIGINT)
    sys.exit(run(sys.argv[1:]))
