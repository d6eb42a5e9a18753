"""What goes wrong with backups."""

from tradewind.errors import TradewindError


class BackupFailed(TradewindError):
    """A copy was not made, is not whole, or cannot be restored; the message says why."""
