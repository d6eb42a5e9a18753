"""Errors of backups."""

from tradewind.errors import TradewindError


class BackupFailed(TradewindError):
    """A copy was not made, is not complete, or cannot be restored; the message says why."""
