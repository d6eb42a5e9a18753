"""Errors of the agent; each message is one line that says what failed and what to do.

TradewindError
└── AgentError
    ├── UnusableSource      a URL, manifest or index page that cannot be read as a list of files
    │   └── UnsafeName      a name in one that would leave the destination folder
    ├── StorageFailed       the local disk refuses: the whole transfer stops, parts are kept
    └── FileFault           one file cannot go on: retried within bounds, else told as a FileFailure
        ├── ConnectionFault     refused, dropped, timed out
        ├── MalformedResponse   bytes that are not HTTP/1.1, or not what was asked for
        └── RefusedByServer     an answer with an error status
"""

from tradewind.errors import TradewindError


class AgentError(TradewindError):
    """Base of the agent's own errors."""


class UnusableSource(AgentError):
    """What was to be copied cannot be read as a file or a list of files."""


class UnsafeName(UnusableSource):
    """A name given by a server or manifest points outside the destination folder."""


class StorageFailed(AgentError):
    """The local disk is full, read-only or broken; nothing more can be written, what was received is kept."""

    retryable = True


class FileFault(AgentError):
    """Something went wrong with one file; ``retryable`` says whether asking again may help.

    Attributes
    ----------
    retry_after_s : the wait the server asked for, if any.
    """

    retryable = True

    def __init__(self, reason: str, *, retryable: bool = True, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class ConnectionFault(FileFault):
    """The connection was refused, dropped or silent for too long."""


class MalformedResponse(FileFault):
    """The answer is not HTTP/1.1 or does not fit the request."""


class RefusedByServer(FileFault):
    """The server answered with an error status."""
