"""What a cell of a CSV log says of a transfer by itself: a command or mode that moves nothing, and its progress."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from enum import Enum

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status


class NoTransfer(Enum):
    """Why a row is of no transfer."""

    SKIPPED = "that moved nothing over the network"
    NOT_ENDED = "of transfers that had not ended"
    OTHER_COMMAND = "of listings and other commands"
    REPEATED = "of attempts that were repeated"
    IN_TWICE = "that are in the file twice"
    EMPTY = "of empty files, or that moved no byte,"


Verdict = Status | NoTransfer

Reader = Callable[[str], Verdict]

LEAST_KNOWN = 0.5
"""Share of the sampled values that must be known words for a column to be one of statuses."""

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d*)?) *%?")
_PLAIN = re.compile(r"[^a-z0-9]+")

_FTP_DOWNLOADS, _FTP_UPLOADS = frozenset({"retr", "eret"}), frozenset({"stor", "esto", "appe", "stou"})
FTP_COMMANDS = _FTP_DOWNLOADS | _FTP_UPLOADS
_DOWNLOADS = _FTP_DOWNLOADS | {"get", "download", "receive"}
_UPLOADS = _FTP_UPLOADS | {"put", "upload", "send"}
_TRANSFERS = _DOWNLOADS | _UPLOADS | {"post", "copy", "cp", "mv", "move", "sync", "transfer"}
_OTHER_COMMANDS = frozenset(
    {
        "mlsd", "mlst", "list", "nlst", "stat", "size", "mdtm", "mkd", "rmd", "dele", "delete", "head", "cwd", "pwd",
        "cdup", "rnfr", "rnto", "rename", "chmod", "check", "cksm", "remove", "rm", "mkdir", "rmdir", "verify",
        "verification", "checksum", "hash", "scan",
    }
)  # fmt: skip
_UNMOVED = frozenset(
    {
        "dryrun", "simulate", "simulated", "simulation", "whatif", "serverside", "serversidecopy", "serversidemove",
        "servercopy", "skip", "skipped", "noop",
    }
)  # fmt: skip
"""Commands and modes in which nothing crosses the network."""

_DRY_RUN = re.compile(r"(?:^|\s)--?(?:dry-?run|simulate|whatif)\b(?!=false)", re.IGNORECASE)
"""The option in a command line."""

_ANY_SHARE = frozenset({"", "percent", "pct", "percentage"})
OTHER_YES = frozenset({"wahr", "vrai", "verdadero", "verdadeiro", "vero", "waar", "ja", "oui", "si", "sim"})
OTHER_NO = frozenset({"falsch", "faux", "falso", "onwaar", "nein", "nee", "non", "nao"})
"""Truth values in other languages, also as spreadsheets write them."""

_YES, _NO = frozenset({"true", "yes", "y", "1"}) | OTHER_YES, frozenset({"false", "no", "n", "0"}) | OTHER_NO


def normalise(text: str) -> str:
    """Return a cell or title without case, accents, blanks and punctuation."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    return _PLAIN.sub("", text.lower())


def find_commanded_direction(text: str) -> Direction | None:
    """Return the direction of a command such as RETR or upload, ``None`` for others."""
    command = normalise(text)
    if command in _DOWNLOADS:
        return Direction.DOWNLOAD
    return Direction.UPLOAD if command in _UPLOADS else None


def find_unmoved(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column such as ``dry_run`` is read, ``None`` where it holds other than yes and no.

    Numbers of a column that is called ``skipped`` count files: the row moved others.
    """
    known = {normalise(value) for value in values}
    if not known <= _YES | _NO or (normalise(title) == "skipped" and known <= {"0", "1"}):
        return None
    if normalise(title) == "dedup":  # an option where it is on in all rows
        return _read_deduplication if known & _NO else None
    return _read_unmoved


def _read_deduplication(text: str) -> Verdict:
    if normalise(text) in _YES:
        advice = "call it deduplicated if such rows moved nothing, or dedup_option if it is an option"
        raise InvalidValue("dedup", f"is {text.strip()}; {advice}")
    return Status.SUCCEEDED


def _read_unmoved(text: str) -> Verdict:
    return NoTransfer.SKIPPED if normalise(text) in _YES else Status.SUCCEEDED


def find_operation(values: Sequence[str]) -> Reader | None:
    """Return how a column of commands is read, ``None`` where most of them are no known command."""
    known = sum(normalise(value) in _TRANSFERS | _OTHER_COMMANDS | _UNMOVED for value in values)
    return _read_operation if known >= LEAST_KNOWN * len(values) else None


def find_mode(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column of modes or actions is read, ``None`` where none of them is of a row that moved nothing.

    A mode such as ``skip`` or ``stat`` may also say what to do with files that are there; an action says what was done.
    """
    if normalise(title).endswith("mode"):
        return _read_mode if any(_read_mode(value) is NoTransfer.SKIPPED for value in values) else None
    return _read_operation if any(normalise(value) in _OTHER_COMMANDS | _UNMOVED for value in values) else None


def _read_mode(text: str) -> Verdict:
    return NoTransfer.SKIPPED if normalise(text) in _UNMOVED - {"skip", "skipped"} else Status.SUCCEEDED


def _read_operation(text: str) -> Verdict:
    command = normalise(text)
    if command in _UNMOVED:
        return NoTransfer.SKIPPED
    return NoTransfer.OTHER_COMMAND if command in _OTHER_COMMANDS else Status.SUCCEEDED


def find_command(values: Sequence[str]) -> Reader | None:
    """Return how a column is read that may hold commands, ``None`` where most are none, or all are of transfers."""
    plain = [normalise(value) for value in values]
    known = sum(each in _TRANSFERS | _OTHER_COMMANDS | _UNMOVED for each in plain)
    has_dry_runs = any(_DRY_RUN.search(value) for value in values)
    has_others = any(each in _OTHER_COMMANDS | _UNMOVED for each in plain)
    if not has_dry_runs and set(plain).isdisjoint(_TRANSFERS | _UNMOVED):
        return None  # such as a column of what was measured
    if not has_dry_runs and (not has_others or known < LEAST_KNOWN * len(values)):
        return None
    return lambda text: NoTransfer.SKIPPED if _DRY_RUN.search(text) else _read_operation(text)


def find_progress(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column of progress is read, as per cent or as fractions; ``None`` where it holds others.

    What is only called a percentage may be one of anything: then half of the rows have to be complete, and others are
    refused. A single one may be the sum of them.
    """
    shares = [found and float(found[1]) for found in map(_PERCENT.fullmatch, values)]
    if None in shares:
        return None
    has_marks = any(value.endswith("%") for value in values)
    plain = normalise(title)
    is_any = plain in _ANY_SHARE
    if (is_any and shares.count(100.0) < LEAST_KNOWN * len(shares)) or (plain == "completion" and not has_marks):
        return None
    complete = 100.0 if has_marks or max(share or 0 for share in shares) > 1 else 1.0

    def read(text: str) -> Verdict:
        found = _PERCENT.fullmatch(text.strip())
        if found is None or float(found[1]) >= complete:
            return Status.SUCCEEDED
        if is_any:
            advice = "add a column status, or call this one by what it is a share of"
            raise InvalidValue("outcome.status", f"is {text.strip()} in the column {title[:40]}; {advice}")
        return NoTransfer.NOT_ENDED

    return read
