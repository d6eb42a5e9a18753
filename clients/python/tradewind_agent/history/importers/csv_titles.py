"""Titles of columns of a CSV log that say how transfers ended, put together of words: ``copy_ok``, ``rsync_exit_code``.

The tables of names hold the usual ones; people name such columns in as many ways as there are programs.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from tradewind_agent.history.importers.instants import remove_accents

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*|\d+")
_AROUND = frozenset(
    {
        "is", "has", "had", "was", "were", "did", "all", "the", "final", "last", "first", "any", "overall", "total",
        "file", "files", "transfer", "transfers", "xfer", "copy", "upload", "download", "sync", "job", "task",
        "object", "objects", "request", "process", "command", "cmd", "script", "tool", "program", "shell", "client",
        "curl", "wget", "rsync", "rclone", "scp", "sftp", "aws", "azcopy", "gsutil", "globus", "gridftp", "fts",
        "checksum", "checksums", "md5", "sha1", "sha256", "crc", "crc32", "crc32c", "adler32", "hash", "integrity",
        "n", "num", "number", "count", "of", "been",
    }
)  # fmt: skip
"""Words that say of what, or how many; they do not change what a title means."""

_CHECKS = frozenset(
    {"checksum", "checksums", "md5", "sha1", "sha256", "crc", "crc32", "crc32c", "adler32", "hash", "integrity"}
)
_GOOD = frozenset(
    {
        "ok", "okay", "success", "succeeded", "successful", "successfully", "valid", "complete", "completed", "passed",
        "pass", "match", "matches", "matched", "correct", "intact", "finished", "transferred", "verified", "validated",
        "erfolg", "erfolgreich", "succes", "reussi", "exito",
    }
)  # fmt: skip
_STATES = frozenset({"status", "state", "result", "outcome"})
_BAD_MARKS = frozenset({"truncated", "corrupt", "corrupted", "incomplete", "unfinished", "damaged"})
"""Words above yes and no; above others, they may be of anything."""

_BAD = _BAD_MARKS | frozenset(
    {
        "fail", "fails", "failed", "failure", "failures", "error", "errors", "err", "errored", "exception",
        "exceptions", "cancelled", "canceled", "aborted", "interrupted", "killed", "timedout", "fehler",
        "fehlermeldung", "erreur", "erreurs",
    }
)  # fmt: skip
_DETAILS = frozenset(
    {
        "message", "messages", "msg", "text", "reason", "type", "description", "string", "detail", "details", "cause",
        "info", "code",
    }
)  # fmt: skip
_COUNTED = frozenset({"count", "total", "all", "file", "files", "transfers", "objects", "requests", "checksums"})
"""Words that may follow a bad one, above numbers of what failed; others, as in ``error_process``, name something."""
_EXITS = frozenset({"exit", "return", "ret", "rc", "retcode", "exitcode", "returncode", "exitstatus"})
_SIGNALS = frozenset({"exit", "term", "kill", "termination"})
_RESPONSES = frozenset({"response", "reply"})
_SERVERS = frozenset({"http", "https", "ftp", "server", "s3"})
_UNMOVED = frozenset(
    {
        "dryrun", "noop", "noaction", "simulated", "simulation", "serverside", "serversidecopy", "skipped",
        "dedup", "deduplicated", "deduped", "alreadyexists", "alreadypresent", "existed", "uptodate",
    }
)  # fmt: skip
_COMMANDS = frozenset(
    {
        "command", "cmd", "method", "httpmethod", "requestmethod", "op", "optype", "operationtype", "type",
        "transfertype", "tasktype", "jobtype", "requesttype", "copytype", "copymethod", "transfermethod", "phase",
        "stage", "step",
    }
)  # fmt: skip


def _list_words(title: str) -> list[str]:
    """List the words of a title in lower case, without accents; ``md5`` is one."""
    return [word.lower() for word in _WORD.findall(remove_accents(title))]


@lru_cache(1024)
def find_verdict_quantity(title: str) -> str | None:
    """Return the quantity of a column that says how a transfer ended, ``None`` for titles that need not.

    What its cells hold has to fit, too.
    """
    words = _list_words(title.replace("timed_out", "timedout"))
    if not words or len(words) > 6:
        return None
    return next((quantity for quantity, is_one in _JUDGES if is_one(words)), None)


def _is_of_replies(words: list[str]) -> bool:
    return set(words) - {"code"} <= _RESPONSES | _SERVERS and not _RESPONSES.isdisjoint(words)


def _is_failure(words: list[str]) -> bool:
    at = next((place for place, word in enumerate(words) if word not in _AROUND), len(words))
    return at < len(words) and words[at] in _BAD and set(words[at + 1 :]) <= _DETAILS | _BAD | _COUNTED


def _is_success(words: list[str]) -> bool:
    left = _list_core(words)
    return bool(left) and set(left) <= _GOOD


def _is_state(words: list[str]) -> bool:
    left = _list_core(words)
    return len(words) > 1 and len(left) == 1 and left[0] in _STATES


def _is_of_the_unmoved(words: list[str]) -> bool:
    return "".join(words) in _UNMOVED or "".join(_list_core(words)) in _UNMOVED


def _list_core(words: list[str]) -> list[str]:
    """Return the words of a title that decide what it means."""
    return [word for word in words if word not in _AROUND]


def _is_exit(words: list[str]) -> bool:
    """Return whether words are those of an exit code, or of the signal that ended a program."""
    left = _list_core(words)
    if not left:
        return False
    if left[-1] == "signal":
        return len(left) == 1 or (len(left) == 2 and left[0] in _SIGNALS)
    return left[0] in _EXITS and set(left[1:]) <= {"code", "status", "value"}


_JUDGES: Sequence[tuple[str, Callable[[list[str]], bool]]] = (
    ("operation", lambda words: "".join(words) in _COMMANDS),
    ("response_code", _is_of_replies),
    ("exit_code", _is_exit),
    ("nothing_moved", _is_of_the_unmoved),
    ("failure", _is_failure),
    ("success", _is_success),
    ("status", _is_state),
)


def is_about_checks(title: str) -> bool:
    """Return whether a column is about checksums: it says how a check ended, but not that a file was left out."""
    return not _CHECKS.isdisjoint(_list_words(title))


def may_be_unchecked(title: str) -> bool:
    """Return whether ``false`` in a column may say that nothing was checked, as in one that is called ``verified``."""
    return set(_list_words(title)) & {"verified", "validated"} != set()


def may_name_what_failed(title: str) -> bool:
    """Return whether a column counts what failed, or names it: ``err_file`` as well as ``err_files``."""
    words = _list_words(title)
    return bool(words) and words[-1] in _COUNTED - {"count", "total", "all"}


def needs_truths(title: str) -> bool:
    """Return whether only yes and no in a column such as ``truncated`` say that a transfer failed."""
    return not _BAD_MARKS.isdisjoint(_list_words(title))


def is_sure_exit(title: str) -> bool:
    """Return whether a title is of exit codes whatever they are: ``ret`` and ``return`` may be of values."""
    words = set(_list_words(title))
    return bool(words & _EXITS - {"return", "ret"}) or (bool(words & _EXITS) and "code" in words) or words > {"signal"}


def may_be_radio(title: str) -> bool:
    """Return whether numbers in a column that is called ``signal`` may say how strong one is, such as in bars."""
    return _list_words(title) == ["signal"]


def is_of_earlier_attempts(title: str) -> bool:
    """Return whether a column may hold what an earlier attempt met, such as ``last_error``."""
    words = _list_words(title)
    return bool(words) and words[0] in ("last", "first", "any", "n", "num", "number", "total", "count")
