"""Copies that are listed and planned, and not run yet."""

from collections.abc import Sequence

from tradewind_agent.copy.listing import list_files
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import PreparedCopy, prepare_listed


def prepare(sources: Sequence[str], destination: str, *, options: CopyOptions | None = None) -> PreparedCopy:
    options = options or CopyOptions()
    listing = list_files(sources, destination, options=options.engine, rules=options.listing)
    return prepare_listed(listing, options=options)
