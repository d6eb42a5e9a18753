"""``tradewind copy --compress``: a copy whose files are packed on their way."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from tradewind_agent.cli.commands.copying.by_tool import CopyContext
    from tradewind_agent.compression.planning import PackingMode
    from tradewind_agent.copy.listing import Listing
    from tradewind_agent.copy.options import CopyOptions
    from tradewind_agent.copy.reporting.report import CopyReport
    from tradewind_agent.copy.run import PreparedCopy
    from tradewind_agent.engine.progress import Snapshot
    from tradewind_agent.session.logbook import Logbook

OFF = "off"

OnSnapshot = Callable[["Snapshot", "PreparedCopy"], None]


def parse_compress_option(compress: str) -> "PackingMode | None":
    """Parse ``--compress``; return ``None`` for off, without loading the modules for packing."""
    if compress == OFF:
        return None
    from tradewind.errors import InvalidValue
    from tradewind_agent.compression.planning import PackingMode

    try:
        return PackingMode.parse(compress)
    except InvalidValue as wrong:
        raise typer.BadParameter(f"{wrong.reason}; or auto, raw or off", param_hint="--compress") from None


class PreparedPacking:
    """A copy with its plan and the choice of what is packed, before its first byte.

    Attributes
    ----------
    prepared : the copy. notes : what was chosen, and why.
    """

    def __init__(
        self, listing: "Listing", packing: "PackingMode", settings: "CopyOptions", context: "CopyContext"
    ) -> None:
        from tradewind_agent.compression.packed.packed_copy import choose

        self._packing, self._context = packing, context
        self._chosen = choose(listing, packing, settings, context.client)
        self.prepared, self.notes = self._chosen.prepared, self._chosen.notes

    def run(
        self, logbook: "Logbook", *, on_snapshot: OnSnapshot | None, say: Callable[[str], None] | None, metered: bool
    ) -> "CopyReport":
        """Move the files, and return the report."""
        from tradewind_agent.compression.packed.packed_copy import run_packed_copy

        return run_packed_copy(
            self._chosen,
            self._packing,
            client=self._context.client,
            logbook=logbook,
            meter=self._context.meter if metered else None,
            on_snapshot=on_snapshot,
            say=say,
        )
