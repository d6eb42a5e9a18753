"""Explain errors of the system, the resolver and TLS to the user, with advice."""

import errno
import re
import socket
import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class ErrorExplanation(NamedTuple):
    """What went wrong, as the end of a sentence, and advice."""

    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.what}; {self.advice}" if self.advice else self.what


_OTHER_PLACE = "make room there or choose another place"
_BY_NUMBER: Mapping[int, ErrorExplanation] = MappingProxyType(
    {
        errno.ECONNREFUSED: ErrorExplanation("the connection was refused", "check the port, and that the server runs"),
        errno.ECONNRESET: ErrorExplanation("the connection was dropped", "try again; the server's log may say why"),
        errno.EPIPE: ErrorExplanation("the connection was dropped", "try again; the server's log may say why"),
        errno.ECONNABORTED: ErrorExplanation("the connection was dropped", "try again; the server's log may say why"),
        errno.ETIMEDOUT: ErrorExplanation("there is no answer", "check the address, the network and firewalls"),
        errno.ENETUNREACH: ErrorExplanation("no network leads there", "check this machine's network"),
        errno.EHOSTUNREACH: ErrorExplanation("no network leads there", "check the address and this machine's network"),
        errno.EADDRINUSE: ErrorExplanation("the port is taken", "choose another port"),
        errno.EADDRNOTAVAIL: ErrorExplanation("this machine has no such address", "choose another one"),
        errno.EACCES: ErrorExplanation("permission denied", "change owner or mode, or choose another place"),
        errno.EPERM: ErrorExplanation("permission denied", "change owner or mode, or choose another place"),
        errno.EROFS: ErrorExplanation("the file system is read-only", "choose another place"),
        errno.ENOSPC: ErrorExplanation("no space is left", _OTHER_PLACE),
        errno.EDQUOT: ErrorExplanation("the disk quota is used up", _OTHER_PLACE),
        errno.ENOENT: ErrorExplanation("it does not exist", "check the name"),
        errno.EINVAL: ErrorExplanation(
            "the file system does not take it", "its name may hold characters that are not permitted there"
        ),
        errno.EILSEQ: ErrorExplanation("the file system takes no such characters in names", "choose another name"),
        errno.EMFILE: ErrorExplanation("too many files are open", "raise `ulimit -n`"),
        errno.ENFILE: ErrorExplanation("too many files are open", "close other programs"),
    }
)
_BY_TIME: Mapping[int, ErrorExplanation] = (
    MappingProxyType(  # X509_V_ERR_CERT_NOT_YET_VALID and …_HAS_EXPIRED of OpenSSL
        {
            9: ErrorExplanation("its certificate is not valid yet", "set this machine's clock, or inform its operator"),
            10: ErrorExplanation(
                "its certificate has expired", "inform its operator, or set this machine's clock if that is wrong"
            ),
        }
    )
)
_NUMBER = re.compile(r"\[Errno (\d+)\]")


def explain_os_error(error: OSError) -> ErrorExplanation:
    """Explain an error of the system; an unknown error keeps its own text."""
    if isinstance(error, ssl.SSLCertVerificationError):
        untrusted = ErrorExplanation(
            f"its certificate is not trusted ({error.verify_message})", "name its authority by SSL_CERT_FILE"
        )
        return _BY_TIME.get(error.verify_code, untrusted)
    if isinstance(error, ssl.SSLError):
        reason = f" ({error.reason.replace('_', ' ').lower()})" if error.reason else ""
        return ErrorExplanation(f"TLS failed{reason}", "check that the address is one of https")
    if isinstance(error, socket.gaierror):
        if error.errno == socket.EAI_AGAIN:
            return ErrorExplanation("its name cannot be looked up now", "check the name, and this machine's DNS")
        return ErrorExplanation("its name is not known", "check the name")
    if isinstance(error, TimeoutError):
        return _BY_NUMBER[errno.ETIMEDOUT]
    return _BY_NUMBER.get(
        _find_number(error), ErrorExplanation(error.strerror or str(error) or type(error).__name__, "")
    )


def find_os_error(error: BaseException) -> OSError | None:
    """Return the system's error behind a library's error, if there is one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _find_number(error: OSError) -> int:
    """Return the error's number; for several addresses, asyncio has the numbers only in the text."""
    if error.errno is not None:
        return error.errno
    number = _NUMBER.search(str(error))
    return int(number[1]) if number else 0
