"""What a cell of a CSV log says of a transfer by itself: a command or mode that moves nothing, and its progress."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

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

WORDS_OF: Mapping[Verdict, str] = MappingProxyType(
    {
        Status.SUCCEEDED: "success succeeded successful successfully ok okay done complete completed finished "
        "pass passed true yes y uploaded downloaded copied transferred "
        "erfolgreich erfolg abgeschlossen fertig beendet reussi reussie succes termine terminee "
        "completado completada exito exitoso correcto completato riuscito sucesso concluido voltooid geslaagd",
        Status.FAILED: "fail failed failure error errored err false no n broken timeout timedout denied "
        "rejected crashed unsuccessful finisheddirty ko nok notok "
        "fehlgeschlagen fehler fehlerhaft gescheitert echec echoue echouee erreur "
        "fallido fallida error fallo fallito errore falhou falha erro mislukt fout",
        Status.CANCELLED: "cancel cancelled canceled abort aborted interrupted stopped killed incomplete partial "
        "abgebrochen annule annulee cancelado cancelada annullato geannuleerd",
        NoTransfer.SKIPPED: "skip skipped exists alreadyexists unchanged dryrun notneeded uptodate ignored "
        "ubersprungen ignore ignoree omitido omitida saltato overgeslagen",
        NoTransfer.NOT_ENDED: "running active started starting inprogress queued pending submitted ready "
        "staging paused new retrying progress transferring",
    }
)
WORDS = {word: verdict for verdict, words in WORDS_OF.items() for word in words.split()}
"""What a word means, also in other languages of Europe, without their accents."""

_TOKEN = re.compile(r"[A-Za-z]+")
_GOOD_TOKENS = frozenset(WORDS_OF[Status.SUCCEEDED].split()) - {"true", "yes", "y", "pass"}
_BAD_TOKENS = frozenset(
    {
        "fail", "failed", "failure", "error", "errors", "errored", "timeout", "timedout", "denied", "rejected",
        "crashed", "aborted", "refused", "broken", "unsuccessful", "cancelled", "canceled", "interrupted", "killed",
    }
)  # fmt: skip
_OPEN_TOKENS = frozenset({"no", "not", "without", "zero", "never", "with", "partially", "partly", "retrying", "un"})
"""Words that turn others around or limit them: what the entire text means is then left to the user."""
_REASON = re.compile(r"\s*[:;,(\[]|\s+[-–]\s+")  # dashes of people
RESPONSES, OK_RESPONSES = range(100, 600), range(200, 300)
_NOT_MODIFIED = 304
_RESPONSE = re.compile(r"\s*(?:HTTP(?:/[\d.]+)? )?(\d{3})(?:\s+[A-Za-z].*)?\s*")
"""Replies of FTP (RFC 959) and HTTP (RFC 9110)."""
EXIT_CODES = range(-255, 256)
_NO_FAILURE = frozenset({"", "no", "n", "false", "never", "ok", "success", "noerror", "noerrors"})
COUNT = re.compile(r"\d+(?:[.,]\d*)? *(?:%|errors?|failures?|failed|files?)?", re.IGNORECASE)
"""A number next to a state, of attempts that were repeated or of what was done; a text with a code is a reason."""
_NONE_COUNTED = re.compile(r"0+(?:errors?|failures?|failed)")

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d*)?) *%?")
_PLAIN = re.compile(r"[^a-z0-9]+")

_TRANSFERS = frozenset(
    {
        "retr", "stor", "esto", "eret", "appe", "stou", "get", "put", "post", "copy", "cp", "mv", "move", "sync",
        "download", "upload", "send", "receive", "transfer",
    }
)  # fmt: skip
_OTHER_COMMANDS = frozenset(
    {
        "mlsd", "mlst", "list", "nlst", "stat", "size", "mdtm", "mkd", "rmd", "dele", "delete", "head", "cwd", "pwd",
        "cdup", "rnfr", "rnto", "rename", "chmod", "check", "cksm", "remove", "rm", "mkdir", "rmdir",
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

TRUTHS = frozenset({"true", "false", "yes", "no", "y", "n", "t", "f", "0", "1", "ok", "failed"})
"""Texts of a column of truth values."""

_YES, _NO = frozenset({"true", "yes", "y", "1"}), frozenset({"false", "no", "n", "0"})


def normalise(text: str) -> str:
    """Return a cell or title without case, accents, blanks and punctuation."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    return _PLAIN.sub("", text.lower())


def find_commanded_direction(text: str) -> Direction | None:
    """Return the direction of a command such as RETR or upload, ``None`` for others."""
    command = normalise(text)
    if command in ("retr", "eret", "get", "download", "receive"):
        return Direction.DOWNLOAD
    return Direction.UPLOAD if command in ("stor", "esto", "appe", "stou", "put", "upload", "send") else None


def find_unmoved(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column such as ``dry_run`` is read, ``None`` where it holds other than yes and no.

    Numbers of a column that is called ``skipped`` count files: the row moved others.
    """
    known = {normalise(value) for value in values}
    if not known <= _YES | _NO or (normalise(title) == "skipped" and known <= {"0", "1"}):
        return None
    return _read_unmoved


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
    if not has_dry_runs and (not has_others or known < LEAST_KNOWN * len(values)):
        return None
    return lambda text: NoTransfer.SKIPPED if _DRY_RUN.search(text) else _read_operation(text)


def find_progress(values: Sequence[str]) -> Reader | None:
    """Return how a column of progress is read, as per cent or as fractions; ``None`` where it holds others."""
    shares = [found and float(found[1]) for found in map(_PERCENT.fullmatch, values)]
    if None in shares:
        return None
    has_marks = any(value.endswith("%") for value in values)
    complete = 100.0 if has_marks or max(share or 0 for share in shares) > 1 else 1.0

    def read(text: str) -> Verdict:
        found = _PERCENT.fullmatch(text.strip())
        return NoTransfer.NOT_ENDED if found is not None and float(found[1]) < complete else Status.SUCCEEDED

    return read


def parse_code_number(text: str) -> int | None:
    try:
        return int(text.strip())
    except ValueError:
        return None


def find_word(text: str) -> Verdict | None:
    """Return what a status means, also with a reason behind it such as ``FAILED: timeout``."""
    plain = WORDS.get(normalise(text)) or WORDS.get(normalise(_REASON.split(text.strip(), maxsplit=1)[0]))
    return plain or _find_verdict_among_words(text)


def _find_verdict_among_words(text: str) -> Verdict | None:
    """Return what a phrase such as ``Transfer OK`` means; ``None`` where its words say both, or neither."""
    tokens = {token.lower() for token in _TOKEN.findall(text)}
    good, bad = tokens & _GOOD_TOKENS, tokens & _BAD_TOKENS
    if bool(good) == bool(bad) or tokens & _OPEN_TOKENS:
        return None
    return Status.SUCCEEDED if good else WORDS.get(next(iter(bad)), Status.FAILED)


def read_word(text: str) -> Verdict:
    if text.strip() in ("0", "1"):
        return Status.SUCCEEDED if text.strip() == "1" else Status.FAILED
    verdict = find_word(text)
    if verdict is None:
        raise InvalidValue("outcome.status", f"is neither a success nor a failure: {text.strip()[:40]!r}")
    return verdict


def read_exit_code(text: str) -> Verdict:
    return Status.SUCCEEDED if _parse_code(text) == 0 else Status.FAILED


def read_response(text: str) -> Verdict:
    code = parse_response(text)
    if code is None:
        code = _parse_code(text)
    if code == _NOT_MODIFIED:
        return NoTransfer.SKIPPED
    return Status.SUCCEEDED if code in OK_RESPONSES else Status.FAILED


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
    is_good = " " in text.strip() and _find_verdict_among_words(text) is Status.SUCCEEDED
    return Status.SUCCEEDED if has_none or is_good else Status.FAILED
