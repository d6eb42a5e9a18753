"""The command line ``tradewind``: one module a group of commands, nothing loaded before it is needed."""

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    from tradewind_agent.cli.app import run

    sys.exit(run(sys.argv[1:]))
