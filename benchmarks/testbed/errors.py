"""What can keep a testbed from standing."""

from tradewind.errors import TradewindError


class CannotEmulate(TradewindError):
    """This machine or account does not permit the emulation; the message says what is needed."""


class NothingMoved(TradewindError):
    """A program failed, or moved nothing until it was cut: its run says nothing of what was to be measured."""


class EmulationBroke(TradewindError):
    """A part of a standing testbed failed or refused a command."""
