"""How one cell of a CSV log is read that says how a transfer ended: a word, a code, a reply of a server, an error."""

import errno
import re

from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_verdicts import OTHER_NO, OTHER_YES, NoTransfer, Verdict, normalise
from tradewind_agent.history.importers.csv_words.phrases import find_verdict_among_words, find_word, fold

TRUTHS = frozenset({"true", "false", "yes", "no", "y", "n", "t", "f", "0", "1", "ok", "failed"}) | OTHER_YES | OTHER_NO
"""Texts of a column of truth values."""

RESPONSES, OK_RESPONSES = range(100, 600), range(200, 300)
_NOT_MODIFIED = 304
_RESPONSE = re.compile(r"\s*(?:HTTP(?:/[\d.]+)? )?(\d{3})(?:\s+[A-Za-z].*)?\s*")
"""Replies of FTP (RFC 959) and HTTP (RFC 9110)."""
EXIT_CODES = range(-255, 256)
_CODE_BEFORE_WORDS = re.compile(r"\s*(-?\d+)(?:\s*[(\[].*|\s*[:,;-]\s.*|\s+[A-Za-z].*)?")
"""An exit code with what it means, such as ``23 (partial)``."""

NAMED_ERROR = re.compile(r"E[A-Z]{2,}[A-Z0-9]*|SIG[A-Z]+")
"""Names of errors and of signals, such as ETIMEDOUT and SIGKILL; states such as ENDED look so, too."""
_ERRNO_NAMES = frozenset(errno.errorcode.values())
_SIGNAL = re.compile(r"SIG[A-Z][A-Z0-9]+")

KNOWN_RESPONSES = frozenset(
    {
        100, 101, 102, 103, 110, 120, 125, 150, *range(200, 209), *range(211, 216), 220, 221, *range(225, 233), 234,
        250, 257, *range(300, 309), 331, 332, 334, 335, 336, 350, *range(400, 419), *range(421, 427), 428, 429, 430,
        431, 434, *range(450, 453), 499, *range(500, 512), *range(520, 528), 530, *range(532, 538), *range(550, 554),
    }
)  # fmt: skip
"""Codes of FTP and HTTP that are in use: others in a column may be milliseconds."""

_NO_FAILURE = OTHER_NO | {
    "", "no", "n", "false", "never", "ok", "success", "noerror", "noerrors", "nichts", "rien", "neant", "ras", "nada",
    "niente",
}  # fmt: skip
_NONE = re.compile(
    r"(?:kein\w*|ohne|aucune?|pas|sans|ningun\w*|sin|nessun\w*|senza|geen|zonder|nenhum\w*|sem)"
    r"(?:[ d'’]*(?:fehler|err(?:eu|o)r|erro|fout)\w*)?"
)
"""That there was no error, in other languages; ``keine Verbindung`` is one."""

COUNT = re.compile(r"\d+(?:[.,]\d*)? *(?:%|errors?|failures?|failed|files?)?", re.IGNORECASE)
"""A number next to a state, of attempts that were repeated or of what was done; a text with a code is a reason."""
_NONE_COUNTED = re.compile(r"0+(?:errors?|failures?|failed)")


def parse_code_number(text: str) -> int | None:
    """Return a code, also as tables of numbers write it where some are missing, such as ``0.0``."""
    try:
        return int(text.strip().removesuffix(".0"))
    except ValueError:
        return None


def read_word(text: str) -> Verdict:
    if text.strip() in ("0", "1"):
        return Status.SUCCEEDED if text.strip() == "1" else Status.FAILED
    verdict = find_word(text)
    if verdict is None:
        raise InvalidValue("outcome.status", f"is neither a success nor a failure: {text.strip()[:40]!r}")
    return verdict


def read_truth(text: str) -> Verdict:
    """Read a truth value, also as databases write it: ``t`` and ``f``."""
    return read_word({"t": "true", "f": "false", "1.0": "1", "0.0": "0"}.get(text.strip().lower(), text))


def read_exit_code(text: str) -> Verdict:
    return Status.SUCCEEDED if _parse_code(text) == 0 else Status.FAILED


def read_response(text: str) -> Verdict:
    code = parse_response(text)
    if code is None:
        code = _parse_code(text)
    if code == _NOT_MODIFIED:
        return NoTransfer.SKIPPED
    return Status.SUCCEEDED if code in OK_RESPONSES else Status.FAILED


def parse_exit_code(text: str) -> int | None:
    """Return an exit code, also with what it means behind it."""
    found = _CODE_BEFORE_WORDS.fullmatch(text)
    return int(found[1]) if found is not None else None


def names_failure(text: str) -> bool:
    """Return whether a cell has a word of a failure, or the name of an error or a signal."""
    return is_named_error(text) or find_word(text) is Status.FAILED


def is_named_error(text: str) -> bool:
    """Return whether a cell is the name of an error of the system, or of a signal that ended a program."""
    return text.strip() in _ERRNO_NAMES or _SIGNAL.fullmatch(text.strip()) is not None


def parse_response(text: str) -> int | None:
    """Return the code of a reply, also with its words behind it, such as ``206 Partial Content``."""
    found = _RESPONSE.fullmatch(text)
    return int(found[1]) if found is not None else parse_code_number(text)


def _parse_code(text: str) -> int:
    code = parse_code_number(text)
    if code is None:
        raise InvalidValue("outcome.status", f"is no code: {text.strip()[:40]!r}")
    return code


def read_failure(text: str) -> Verdict:
    """Read a column of errors: a message, a number of them, or whether there was one."""
    words = normalise(text)
    has_none = words.strip("0") in _NO_FAILURE or _NONE_COUNTED.fullmatch(words) is not None
    has_none |= _NONE.fullmatch(fold(text)) is not None
    is_good = " " in text.strip() and find_verdict_among_words(text) is Status.SUCCEEDED
    return Status.SUCCEEDED if has_none or is_good else Status.FAILED
