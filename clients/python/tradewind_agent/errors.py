"""Errors of the agent; each message is one line that says what failed and what to do.

TradewindError                      tradewind.errors
└── AgentError
    ├── NotConfigured               no service address or key is known
    ├── ServiceProblem              the service answered, and refused: ``status``, ``title``, ``detail``, ``field``
    │   ├── KeyRefused              401, also Unauthenticated
    │   ├── ScopeMissing            403, also NotPermitted
    │   ├── ObjectNotFound            404, also NotFound
    │   ├── ConflictRefused           409, also Conflict
    │   ├── BodyTooLarge            413, also TooLarge
    │   ├── RequestRefused          any other 4xx: a field is wrong, or nothing in a batch was valid
    │   └── ServiceFailed           500, or an answer that is not of this API
    ├── ServiceUnreachable                 no connection, or 429/502/503/504 after all retries; also Unavailable
    ├── SpoolFailed                 the folder of spooled logs cannot be used
    ├── WatchFailed                 a folder of logs cannot be watched
    ├── ServeFailed                 a folder cannot be served
    ├── TransportFailed             a congestion control cannot be put into the kernel or taken out
    │   └── OtherVersionLoaded      one that is in the kernel holds what this version does not understand
    ├── CopyFailed                  a copy could not start
    ├── NoAnswer                    no answer to a heartbeat came in time
    ├── ToolUnusable                a tool to be driven is missing, too old or cannot be started
    ├── CalibrationUnusable         the file of stored power models cannot be read or written
    ├── LibraryMissing              an extra of this distribution is needed and not installed
    ├── ResourceRefused             a resource of this host cannot be limited: reported as advice, nothing fails
    ├── UnusableSource              a URL, manifest or index page that cannot be read as a list of files
    │   └── UnsafeName              a name in one that would leave the destination folder
    ├── StorageFailed               the local disk refuses: the whole transfer stops, parts are kept
    └── FileFault                   one file cannot go on: retried within bounds, else reported as a FileFailure
        ├── ConnectionFault         refused, dropped, timed out
        ├── MalformedResponse       bytes that are not HTTP/1.1, or not what was asked for
        ├── PipeliningRefused       the server forgets or mixes requests that are sent behind others
        ├── RefusedByServer         an answer with an error status
        └── FolderFound             the address is that of a folder
"""

from typing import Any

from tradewind.errors import (
    Conflict,
    NotFound,
    NotPermitted,
    TooLarge,
    TradewindError,
    Unauthenticated,
    Unavailable,
)


class AgentError(TradewindError):
    """Base of the agent's own errors."""


class NotConfigured(AgentError):
    """No service is known to this user."""


class ServiceProblem(AgentError):
    """An RFC 9457 problem of the service.

    Attributes
    ----------
    status : HTTP status.
    title, detail : of the problem; ``detail`` falls back to the title.
    field, reason : dotted wire name of the first thing that was wrong and why, if the service names it.
    problem : the whole document, extensions included.
    """

    advice = ""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem
        self.title = str(problem.get("title") or f"status {status}")
        self.detail = str(problem.get("detail") or self.title)
        self.field, self.reason = _find_first_error(problem)
        super().__init__(self._format_line())

    @property
    def wrong_fields(self) -> tuple[tuple[str, str], ...]:
        """Every field that the service refuses, with the reason."""
        errors = self.problem.get("errors")
        fields = [(each.get("field"), each.get("reason")) for each in errors or () if isinstance(each, dict)]
        return tuple((field, str(reason)) for field, reason in fields if isinstance(field, str))

    def _format_line(self) -> str:
        blame = f"; first {self.field}: {self.reason}" if self.field and f"{self.field}:" not in self.detail else ""
        advice = f"; {self.advice}" if self.advice else ""
        return " ".join(f"the service refused ({self.status}): {self.detail}{blame}{advice}".split())


class KeyRefused(ServiceProblem, Unauthenticated):
    """The key is missing, unknown or revoked."""

    advice = "run `tradewind login URL --key KEY` with a valid key"


class ScopeMissing(ServiceProblem, NotPermitted):
    """The key is valid, but not for this call."""

    advice = "use a key with that scope, or ask an operator for one"


class ObjectNotFound(ServiceProblem, NotFound):
    """The object does not exist for this tenant."""


class ConflictRefused(ServiceProblem, Conflict):
    """The request contradicts what the service has stored."""


class BodyTooLarge(ServiceProblem, TooLarge):
    """The request is larger than the service accepts."""

    advice = "send it in smaller batches"


class RequestRefused(ServiceProblem):
    """The request is wrong; sending it again does not help."""


class ServiceFailed(ServiceProblem):
    """The service failed in a way that it should not, or it is not Tradewind that answers at this address."""

    advice = "check the address with `tradewind doctor`; if it is right, inform its operator"


class ServiceUnreachable(AgentError, Unavailable):
    """The service cannot be reached, or says that it cannot answer now; ``retry_after_s`` where it says when."""

    retryable = True

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class SpoolFailed(AgentError):
    """The spool folder cannot be read or written."""


class WatchFailed(AgentError):
    """A folder of logs cannot be watched."""


class ServeFailed(AgentError):
    """A folder cannot be served: no address to listen on, or no certificate to show."""


class TransportFailed(AgentError):
    """A congestion control of ours cannot be put into this host's kernel, or taken out of it."""


class OtherVersionLoaded(TransportFailed):
    """The parameters that the kernel holds are not of this version's form, or outside its limits."""


class NoAnswer(AgentError):
    """No answer to a heartbeat came in time; the message says why."""


class CopyFailed(AgentError):
    """A copy could not start: there is nothing to copy, or options contradict each other."""


class ToolUnusable(AgentError):
    """The tool that moves the data is missing, too old, or cannot be started."""


class LibraryMissing(AgentError):
    """A feature needs a library that is not installed."""


class ResourceRefused(AgentError):
    """A resource of this host cannot be limited here."""


class UnusableSource(AgentError):
    """A source cannot be read as a file or a list of files."""


class UnsafeName(UnusableSource):
    """A name given by a server or manifest points outside the destination folder."""


class CalibrationUnusable(AgentError):
    """The file of this user's calibrated power models is damaged, or cannot be read or written."""


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
    """The connection was refused, dropped or silent for too long.

    ``before_answer`` : the server may have had too many connections, and this file has done nothing wrong.
    ``is_silence`` : no answer began in the time that there is for it.
    """

    def __init__(
        self, reason: str, *, retryable: bool = True, before_answer: bool = False, is_silence: bool = False
    ) -> None:
        super().__init__(reason, retryable=retryable)
        self.before_answer, self.is_silence = before_answer, is_silence


class DroppedBeforeAnswer(ConnectionFault):
    """The connection was made, and closed by the server before an answer to its first request."""


class MalformedResponse(FileFault):
    """The answer is not HTTP/1.1 or does not fit the request."""


class PipeliningRefused(FileFault):
    """An answer is missing or belongs to another request of the same connection: no file's own fault."""


class RefusedByServer(FileFault):
    """The server answered with an error status; ``status`` where it is known."""

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool = True,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(reason, retryable=retryable, retry_after_s=retry_after_s)
        self.status = status


class FolderFound(FileFault):
    """The server redirects the address of a file to the same with a slash: it is a folder."""

    def __init__(self) -> None:
        super().__init__("it is a folder; copy it by its address with / at the end", retryable=False)


def _find_first_error(problem: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return field and reason of the problem's first error, if it has one in the known form."""
    match problem.get("errors"):
        case [{"field": str(field), "reason": str(reason)}, *_]:
            return field, reason
    return None, None


_BY_STATUS: dict[int, type[ServiceProblem]] = {
    401: KeyRefused,
    403: ScopeMissing,
    404: ObjectNotFound,
    409: ConflictRefused,
    413: BodyTooLarge,
}


def build_error(status: int, problem: dict[str, Any]) -> ServiceProblem:
    """Return the exception for a problem document that came with ``status``."""
    kind = _BY_STATUS.get(status, RequestRefused if 400 <= status < 500 else ServiceFailed)
    return kind(status, problem)
