"""Hold content under test back from the packaged measurements, also in a server of its own process.

The end that packs chooses by them. Those of the content under test would tell it more than of a user's file.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tradewind.compression import prior
from tradewind.compression.content import Kind
from tradewind.compression.history import History
from tradewind_agent.cli import main as run_agent


@contextmanager
def replace_packaged_history(load: Callable[[], History]) -> Iterator[None]:
    """Let everything in this process that loads the packaged measurements get these instead."""
    packaged, prior.load_packaged_history = prior.load_packaged_history, load  # type: ignore[assignment]
    try:
        yield
    finally:
        prior.load_packaged_history = packaged


def main() -> None:
    """Run the agent with the arguments behind the first, and without the measurements of the kind which that names."""
    known = prior.load_packaged_history(Kind(sys.argv.pop(1)))
    with replace_packaged_history(lambda: known):
        run_agent()


if __name__ == "__main__":
    main()
