"""Downloads by ranges, for as long as nothing shows that their server has none."""

from tradewind_agent.engine.local.stored_download import StoredDownload
from tradewind_agent.errors import MalformedResponse


class RangedDownload(StoredDownload):
    """A download whose server may have no ranges."""

    def _go_without_ranges(self, reason: str) -> None:
        self.traits.ranges = False
        self.fault(MalformedResponse(reason))
