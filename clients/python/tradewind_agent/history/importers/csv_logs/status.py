"""How a row of a CSV log says that its transfer succeeded, failed, or moved nothing."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.dates import find_date
from tradewind_agent.history.importers.csv_verdicts import (
    LEAST_KNOWN,
    NoTransfer,
    Reader,
    Verdict,
    find_mode,
    find_operation,
    find_progress,
    find_unmoved,
    normalise,
)
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS
from tradewind_agent.history.importers.ports import ImportReport

_WORDS_OF: Mapping[Verdict, str] = MappingProxyType(
    {
        Status.SUCCEEDED: "success succeeded successful successfully ok okay done complete completed finished "
        "pass passed true yes y",
        Status.FAILED: "fail failed failure error errored err false no n broken timeout timedout denied "
        "rejected crashed unsuccessful finisheddirty ko nok notok",
        Status.CANCELLED: "cancel cancelled canceled abort aborted interrupted stopped killed incomplete partial",
        NoTransfer.SKIPPED: "skip skipped exists alreadyexists unchanged dryrun notneeded uptodate ignored",
        NoTransfer.NOT_ENDED: "running active started starting inprogress queued pending submitted ready "
        "staging paused new retrying",
    }
)
_WORDS = {word: verdict for verdict, words in _WORDS_OF.items() for word in words.split()}
_TOKEN = re.compile(r"[A-Za-z]+")
_GOOD_TOKENS = frozenset(_WORDS_OF[Status.SUCCEEDED].split()) - {"true", "yes", "y", "pass"}
_BAD_TOKENS = frozenset(
    {
        "fail", "failed", "failure", "error", "errors", "errored", "timeout", "timedout", "denied", "rejected",
        "crashed", "aborted", "refused", "broken", "unsuccessful", "cancelled", "canceled", "interrupted", "killed",
    }
)  # fmt: skip
_OPEN_TOKENS = frozenset({"no", "not", "without", "zero", "never", "with", "partially", "partly", "retrying", "un"})
"""Words that turn others around or limit them: what the entire text means is then left to the user."""

_REASON = re.compile(r"\s*[:;,(\[]|\s+[-–]\s+")  # dashes of people
_SURE_TITLES = frozenset({"status", "transferstatus", "jobstatus", "finalstatus", "transferresult", "finalstate"})
"""Titles that can mean nothing else; ``state`` may be one of the United States."""

_AMBIGUOUS_TITLES = frozenset({"code", "rc", "errno"})
"""Titles of codes that may be of something else; what they hold decides."""

_STATING = frozenset({"status", "success", "exit_code", "response_code"})
_COUNTS_OF_ERRORS = frozenset({"errors", "numerrors", "errorcount"})
"""Titles of columns whose numbers count errors; those of ``error`` may be codes, and of ``failed`` files."""

_RESPONSES, _OK_RESPONSES = range(100, 600), range(200, 300)
_NOT_MODIFIED = 304
_RESPONSE = re.compile(r"\s*(?:HTTP(?:/[\d.]+)? )?(\d{3})(?:\s+[A-Za-z].*)?\s*")
"""Replies of FTP (RFC 959) and HTTP (RFC 9110)."""

_EXIT_CODES = range(-255, 256)

_ORDER: Sequence[Verdict] = (
    NoTransfer.OTHER_COMMAND,
    Status.FAILED,
    Status.CANCELLED,
    NoTransfer.NOT_ENDED,
    NoTransfer.SKIPPED,
    Status.SUCCEEDED,
)
"""Of several columns the first that one of them says."""


@dataclass(frozen=True, slots=True)
class StatusReader:
    """Reads what the rows of one file say of their transfers.

    ``stating`` : columns that say how a transfer ended, rather than what it met or was.
    ``counting`` : columns of numbers that a state goes before, such as those of errors in all attempts.
    """

    readers: Mapping[int, Reader]
    stating: frozenset[int] = frozenset()
    counting: frozenset[int] = frozenset()

    def read(self, row: Sequence[str]) -> Verdict:
        """Return how the transfer of a row ended; where a file does not say, it succeeded.

        Raises
        ------
        InvalidValue : the row says something that is neither a success nor a failure.

        Notes
        -----
        A number of errors next to a state counts those of attempts that were repeated, too: the last one decides.
        """
        is_stated = any(_is_known(row[place]) for place in self.stating)
        found = {
            reader(row[place])
            for place, reader in self.readers.items()
            if _is_known(row[place])
            and not (is_stated and place in self.counting and _COUNT.fullmatch(row[place].strip()) is not None)
        }
        return next((verdict for verdict in _ORDER if verdict in found), Status.SUCCEEDED)


def build_status_reader(columns: Columns, rows: Iterable[Sequence[str]], report: ImportReport) -> StatusReader:
    """Decide how to read the columns of a file that say how transfers ended, by its sampled ``rows``.

    Raises
    ------
    InvalidValue : a column of statuses holds 0 and 1, which may mean either; or one of codes holds none.
    """
    sampled = list(rows)
    readers: dict[int, Reader] = {}
    stating: set[int] = set()
    counting: set[int] = set()
    for quantity, choose in _CHOICES.items():
        place = columns.place.get(quantity)
        values = [row[place].strip() for row in sampled if _is_known(row[place])] if place is not None else []
        if place is None or not values:
            continue
        title = columns.find_title(quantity)
        reader = choose(title, values)
        if reader is None:
            report.assume(f"{title} does not say how a transfer ended: {values[0][:40]!r} is no known word")
        else:
            readers[place] = reader
            if quantity in _STATING:
                stating.add(place)
            elif quantity == "progress" or (quantity == "failure" and normalise(title) in _COUNTS_OF_ERRORS):
                counting.add(place)
    if stating and counting - {columns.place.get("progress")}:
        report.assume("a number of errors next to a state is of all attempts: the state says how the last one ended")
    return StatusReader(readers, frozenset(stating), frozenset(counting))


def _is_known(text: str) -> bool:
    return text.strip().lower() not in UNKNOWN_TEXTS


def _find_status(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column of statuses is read: words, codes, or not at all."""
    if (code := _find_response_code(title, values) or _find_small_code(values)) is not None:
        if set(values) <= {"0", "1"} and "1" in values:
            advice = "call the column success or exit_code"
            raise InvalidValue("outcome.status", f"is 0 or 1 in the column {title}, which may mean either; {advice}")
        if code is _read_exit_code and all(_parse_number(value) != 0 for value in values):
            advice = "call the column exit_code if 0 is a success, or write words"
            raise InvalidValue(
                "outcome.status", f"is {values[0]} in the column {title}, which may mean anything; {advice}"
            )
        return code
    known = sum(_find_word(value) is not None for value in values)
    is_sure = normalise(title) in _SURE_TITLES or any(_find_word(value) is Status.FAILED for value in values)
    return _read_state if is_sure or known >= LEAST_KNOWN * len(values) else None


def _read_state(text: str) -> Verdict:
    """Read a word among words of states: a number among them may be an exit code, or a truth value.

    Raises
    ------
    InvalidValue : it is a number, or neither a success nor a failure.
    """
    if text.strip() in ("0", "1"):
        raise InvalidValue("outcome.status", f"is {text.strip()} where other rows have words, which may mean either")
    return _read_word(text)


def _find_response_code(_: str, values: Sequence[str]) -> Reader | None:
    return _read_response if all(_parse_response(value) in _RESPONSES for value in values) else None


def _find_small_code(values: Sequence[str]) -> Reader | None:
    return _read_exit_code if all(_parse_number(value) in _EXIT_CODES for value in values) else None


def _find_exit_code(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column of exit codes is read: as such, as replies of a server, or as words.

    Raises
    ------
    InvalidValue : it is none of these; a failure must not pass for a success.
    """
    codes = [_parse_number(value) for value in values]
    if all(code in _RESPONSES for code in codes) and any(code in _OK_RESPONSES for code in codes):
        return _read_response
    if None not in codes:
        return _read_exit_code
    return _find_words(title, values)


def _find_words(title: str, values: Sequence[str]) -> Reader | None:
    if sum(_find_word(value) is not None for value in values) < LEAST_KNOWN * len(values):
        if normalise(title) in _AMBIGUOUS_TITLES:
            return None
        unknown = next(value for value in values if _find_word(value) is None)
        raise InvalidValue("outcome.status", f"in the column {title} is no known word or code: {unknown[:40]!r}")
    return _read_word


_CHOICES: Mapping[str, Callable[[str, Sequence[str]], Reader | None]] = MappingProxyType(
    {
        "status": _find_status,
        "success": lambda _title, values: None if all(map(find_date, values)) else _read_word,
        "exit_code": _find_exit_code,
        "response_code": lambda title, values: _find_response_code(title, values) or _find_words(title, values),
        "failure": lambda _title, _values: _read_failure,
        "operation": lambda _title, values: find_operation(values),
        "mode": find_mode,
        "progress": lambda _title, values: find_progress(values),
        "nothing_moved": find_unmoved,
    }
)


def _parse_number(text: str) -> int | None:
    try:
        return int(text.strip())
    except ValueError:
        return None


def _find_word(text: str) -> Verdict | None:
    """Return what a status means, also with a reason behind it such as ``FAILED: timeout``."""
    plain = _WORDS.get(normalise(text)) or _WORDS.get(normalise(_REASON.split(text.strip(), maxsplit=1)[0]))
    return plain or _find_verdict_among_words(text)


def _find_verdict_among_words(text: str) -> Verdict | None:
    """Return what a phrase such as ``Transfer OK`` means; ``None`` where its words say both, or neither."""
    tokens = {token.lower() for token in _TOKEN.findall(text)}
    good, bad = tokens & _GOOD_TOKENS, tokens & _BAD_TOKENS
    if bool(good) == bool(bad) or tokens & _OPEN_TOKENS:
        return None
    return Status.SUCCEEDED if good else _WORDS.get(next(iter(bad)), Status.FAILED)


def _read_word(text: str) -> Verdict:
    if text.strip() in ("0", "1"):
        return Status.SUCCEEDED if text.strip() == "1" else Status.FAILED
    verdict = _find_word(text)
    if verdict is None:
        raise InvalidValue("outcome.status", f"is neither a success nor a failure: {text.strip()[:40]!r}")
    return verdict


def _read_exit_code(text: str) -> Verdict:
    return Status.SUCCEEDED if _parse_code(text) == 0 else Status.FAILED


def _read_response(text: str) -> Verdict:
    code = _parse_response(text)
    if code is None:
        code = _parse_code(text)
    if code == _NOT_MODIFIED:
        return NoTransfer.SKIPPED
    return Status.SUCCEEDED if code in _OK_RESPONSES else Status.FAILED


def _parse_response(text: str) -> int | None:
    """Return the code of a reply, also with its words behind it, such as ``206 Partial Content``."""
    found = _RESPONSE.fullmatch(text)
    return int(found[1]) if found is not None else _parse_number(text)


def _parse_code(text: str) -> int:
    code = _parse_number(text)
    if code is None:
        raise InvalidValue("outcome.status", f"is no code: {text.strip()[:40]!r}")
    return code


def _read_failure(text: str) -> Verdict:
    """Read a column of errors: a message, a number of them, or whether there was one."""
    words = normalise(text)
    has_none = words.strip("0") in _NO_FAILURE or _NONE_COUNTED.fullmatch(words) is not None
    is_good = " " in text.strip() and _find_verdict_among_words(text) is Status.SUCCEEDED
    return Status.SUCCEEDED if has_none or is_good else Status.FAILED


_NO_FAILURE = frozenset({"", "no", "n", "false", "never", "ok", "success", "noerror", "noerrors"})
_COUNT = re.compile(r"\d+(?:[.,]\d*)? *(?:%|errors?|failures?|failed|files?)?", re.IGNORECASE)
"""A number next to a state, of attempts that were repeated or of what was done; a text with a code is a reason."""

_NONE_COUNTED = re.compile(r"0+(?:errors?|failures?|failed)")
