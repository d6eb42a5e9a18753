"""How a row of a CSV log says that its transfer succeeded, failed, or moved nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_logs.clock.dates import find_date
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.names import find_quantity
from tradewind_agent.history.importers.csv_titles import (
    find_verdict_quantity,
    is_about_checks,
    is_of_earlier_attempts,
    is_sure_exit,
    may_be_unchecked,
)
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
from tradewind_agent.history.importers.csv_words.cells import (
    COUNT,
    EXIT_CODES,
    NAMED_ERROR,
    OK_RESPONSES,
    RESPONSES,
    parse_code_number,
    parse_response,
    read_exit_code,
    read_failure,
    read_response,
    read_truth,
    read_word,
)
from tradewind_agent.history.importers.csv_words.further import (
    FURTHER_CHOICES,
    find_clear_failure,
    find_unnamed,
    read_rare,
)
from tradewind_agent.history.importers.csv_words.phrases import find_word
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS
from tradewind_agent.history.importers.ports import ImportReport

_SURE_TITLES = frozenset({"status", "transferstatus", "jobstatus", "finalstatus", "transferresult", "finalstate"})
"""Titles that can mean nothing else; ``state`` may be one of the United States."""

_AMBIGUOUS_TITLES = frozenset({"code", "rc", "errno"})
"""Titles of codes that may be of something else; what they hold decides."""

_STATING = frozenset({"status", "success", "exit_code", "response_code"})
_COUNTS_OF_ERRORS = frozenset({"errors", "numerrors", "errorcount"})
"""Titles of columns whose numbers count errors; those of ``error`` may be codes, and of ``failed`` files."""


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
    ``weak`` : columns that any state goes before, such as the last error of all attempts.
    ``required`` : states that each row has to have, for others say there that they succeeded.
    ``of_parts`` : further columns of states, of a file or a client: next to a success, only a failure counts.
    """

    readers: Mapping[int, Reader]
    stating: frozenset[int] = frozenset()
    counting: frozenset[int] = frozenset()
    weak: frozenset[int] = frozenset()
    of_parts: frozenset[int] = frozenset()
    required: frozenset[int] = frozenset()

    def read(self, row: Sequence[str]) -> Verdict:
        """Return how the transfer of a row ended; where a file does not say, it succeeded.

        Raises
        ------
        InvalidValue : the row says something that is neither a success nor a failure, or nothing where others do.

        Notes
        -----
        A number of errors next to a state counts those of attempts that were repeated, too: the last one decides.
        """
        stated = {self.readers[place](row[place]) for place in self.stating if _is_known(row[place])}
        readers = ((place, reader) for place, reader in self.readers.items() if place not in self.stating)
        has_succeeded = Status.SUCCEEDED in stated
        found = stated | {
            (find_clear_failure if has_succeeded and place in self.of_parts else reader)(row[place])
            for place, reader in readers
            if _is_known(row[place]) and not (stated and self._gives_way(place, row[place]))
        }
        verdict = next((each for each in _ORDER if each in found), Status.SUCCEEDED)
        stating = self.stating | self.required
        if verdict is Status.SUCCEEDED and self.required and not any(_is_known(row[place]) for place in stating):
            raise InvalidValue("outcome.status", "is missing, where other rows say that they succeeded")
        return verdict

    def is_success(self, row: Sequence[str]) -> bool:
        """Return whether a row says that its transfer succeeded; one that is refused does not."""
        with suppress(InvalidValue):
            return self.read(row) is Status.SUCCEEDED
        return False

    def _gives_way(self, place: int, text: str) -> bool:
        return place in self.weak or (place in self.counting and COUNT.fullmatch(text.strip()) is not None)


def build_status_reader(columns: Columns, rows: Iterable[Sequence[str]], report: ImportReport) -> StatusReader:
    """Decide how to read the columns of a file that say how transfers ended, by its sampled ``rows``.

    Raises
    ------
    InvalidValue : a column of statuses holds 0 and 1, which may mean either; or one of codes holds none.
    """
    sampled = list(rows)
    readers: dict[int, Reader] = {}
    names = ("stating", "counting", "weak", "of_parts", "required")
    places: dict[str, set[int]] = {name: set() for name in names}
    for quantity, place, is_first in _list_verdict_columns(columns):
        values = [row[place].strip() for row in sampled if _is_known(row[place])]
        title = columns.header[place]
        reader = (_CHOICES if is_first else FURTHER_CHOICES)[quantity](title, values) if values else None
        if not values and quantity in _RARELY_FILLED:
            readers[place] = read_failure if is_first and quantity == "failure" else read_rare(quantity, title)
        elif reader is not None:
            readers[place] = reader
        elif values and is_first:
            report.assume(f"{title} does not say how a transfer ended: {values[0][:40]!r} is no known word")
        weight = _find_weight(quantity, title, values, is_first=is_first)
        if place in readers and weight is not None:
            places[weight].add(place)
        may_require = quantity in _STATING and weight != "weak" and (is_first or not is_about_checks(title))
        if may_require and place in readers and _requires(quantity, readers[place], values, is_first=is_first):
            places["required"].add(place)
    if len(places["required"]) > 1:
        readers |= dict.fromkeys(_list_replies(readers), _read_reply_if_any)
    if places["stating"].isdisjoint(readers) and "failure" not in columns.place:
        readers |= dict(_list_unnamed(columns, sampled, readers))
    if places["stating"] and places["counting"] - {columns.place.get("progress")}:
        report.assume("a number of errors next to a state is of all attempts: the state says how the last one ended")
    return StatusReader(readers, **{weight: frozenset(found) for weight, found in places.items()})


def _list_unnamed(
    columns: Columns, rows: Sequence[Sequence[str]], known: Mapping[int, Reader]
) -> Iterator[tuple[int, Reader]]:
    """Yield how columns of no known title are read that hold states, as in other languages: place and reader."""
    for place, title in enumerate(columns.header):
        if place in columns.place.values() or place in known or find_verdict_title(title) is not None:
            continue
        values = {row[place].strip() for row in rows if _is_known(row[place])}
        if values and (reader := find_unnamed(title, values)) is not None:
            yield place, reader


def _requires(quantity: str, read: Reader, values: Sequence[str], *, is_first: bool) -> bool:
    """Return whether rows without a state are refused: others say success, or in marks that are not known."""
    verdicts: set[Verdict] = set()
    for value in set(values):
        with suppress(InvalidValue):
            verdicts.add(read(value))
    return Status.SUCCEEDED in verdicts or (bool(values) and quantity == "success" and is_first and not verdicts)


def _find_weight(quantity: str, title: str, values: Sequence[str], *, is_first: bool) -> str | None:
    """Return in which set of columns of a reader a column is, ``None`` if it always counts."""
    if quantity in _STATING and is_first:
        return "stating"
    if not is_first and _gives_way(quantity, title, values):
        return "weak"
    if quantity == "progress" or (quantity == "failure" and _counts_errors(title, is_first=is_first)):
        return "counting"
    return "of_parts" if quantity == "status" else None


def _list_verdict_columns(columns: Columns) -> Iterator[tuple[str, int, bool]]:
    """Yield the columns that may say how transfers ended: quantity, place, and whether its name is a usual one.

    A file may have several of one kind, such as ``copy_ok`` next to ``checksum_ok``: each of them counts.
    """
    for quantity in _CHOICES:
        if quantity in columns.place:
            yield quantity, columns.place[quantity], True
    others = set(columns.place.values())
    for place, title in enumerate(columns.header):
        if place not in others and (further := find_verdict_title(title)) is not None:
            yield further, place, False


def find_verdict_title(title: str) -> str | None:
    """Return what a column of this title may say of how a transfer ended, ``None`` if it says nothing of it."""
    quantity = find_quantity(title)[0]
    if "%" in title:  # a share of failures, say
        return None
    return find_verdict_quantity(title) if quantity is None else quantity if quantity in FURTHER_CHOICES else None


def _gives_way(quantity: str, title: str, values: Sequence[str]) -> bool:
    """Return whether any state goes before a column: a number of its own, or what an earlier attempt met."""
    if quantity == "exit_code":
        return not is_sure_exit(title)
    is_number = all(COUNT.fullmatch(value) for value in values)
    return is_of_earlier_attempts(title) or (quantity == "status" and is_number) or may_be_unchecked(title)


def _counts_errors(title: str, *, is_first: bool) -> bool:
    """Return whether numbers of a column may count errors of all attempts."""
    return not is_first or normalise(title) in _COUNTS_OF_ERRORS


def _is_known(text: str) -> bool:
    return text.strip().lower() not in UNKNOWN_TEXTS


def _find_status(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column of statuses is read: words, codes, or not at all."""
    if (code := _find_response_code(title, values) or _find_small_code(values)) is not None:
        if set(values) <= {"0", "1"} and "1" in values:
            advice = "call the column success or exit_code"
            raise InvalidValue("outcome.status", f"is 0 or 1 in the column {title}, which may mean either; {advice}")
        if code is read_exit_code and all(parse_code_number(value) != 0 for value in values):
            advice = "call the column exit_code if 0 is a success, or write words"
            raise InvalidValue(
                "outcome.status", f"is {values[0]} in the column {title}, which may mean anything; {advice}"
            )
        return code
    known = sum(find_word(value) is not None for value in values)
    is_sure = normalise(title) in _SURE_TITLES or any(find_word(value) is Status.FAILED for value in values)
    return _read_state if is_sure or known >= LEAST_KNOWN * len(values) else None


def _read_state(text: str) -> Verdict:
    """Read a word among words of states: a number among them may be an exit code, or a truth value.

    Raises
    ------
    InvalidValue : it is a number, or neither a success nor a failure.
    """
    if text.strip() in ("0", "1"):
        raise InvalidValue("outcome.status", f"is {text.strip()} where other rows have words, which may mean either")
    return read_word(text)


def _find_response_code(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column of replies is read; 0 is that of none, unless the column may hold exit codes, too."""
    codes = {parse_response(value) for value in values}
    is_sure = find_quantity(title)[0] == "response_code" and normalise(title) not in _AMBIGUOUS_TITLES
    known = codes - {0} if is_sure and not codes.isdisjoint(OK_RESPONSES) else codes
    return read_response if all(code in RESPONSES for code in known) else None


def _read_reply_if_any(text: str) -> Verdict:
    """Read a reply next to another state, which decides where there was none, as in protocols without codes."""
    return Status.SUCCEEDED if parse_response(text) == 0 else read_response(text)


def _list_replies(readers: Mapping[int, Reader]) -> Iterator[int]:
    """Yield the columns that are read as replies."""
    return (place for place, reader in readers.items() if reader is read_response)


def _find_small_code(values: Sequence[str]) -> Reader | None:
    """Return how a column of exit codes is read, ``None`` where replies such as 200 are among them."""
    codes = {parse_code_number(value) for value in values}
    is_one = all(code in EXIT_CODES for code in codes) and codes.isdisjoint(OK_RESPONSES)
    return read_exit_code if is_one else None


def _find_exit_code(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column of exit codes is read: as such, as replies of a server, or as words.

    Raises
    ------
    InvalidValue : it is none of these; a failure must not pass for a success.
    """
    codes = [parse_code_number(value) for value in values]
    if all(code in RESPONSES for code in codes) and any(code in OK_RESPONSES for code in codes):
        return read_response
    if None not in codes:
        return read_exit_code
    return _find_words(title, values)


def _find_words(title: str, values: Sequence[str]) -> Reader | None:
    if sum(find_word(value) is not None for value in values) < LEAST_KNOWN * len(values):
        if all(map(NAMED_ERROR.fullmatch, values)):
            return read_failure
        if normalise(title) in _AMBIGUOUS_TITLES:
            return None
        unknown = next(value for value in values if find_word(value) is None)
        raise InvalidValue("outcome.status", f"in the column {title} is no known word or code: {unknown[:40]!r}")
    return read_word


_CHOICES: Mapping[str, Callable[[str, Sequence[str]], Reader | None]] = MappingProxyType(
    {
        "status": _find_status,
        "success": lambda _title, values: None if all(map(find_date, values)) else read_truth,
        "exit_code": _find_exit_code,
        "response_code": lambda title, values: _find_response_code(title, values) or _find_words(title, values),
        "failure": lambda _title, _values: read_failure,
        "operation": lambda _title, values: find_operation(values),
        "mode": find_mode,
        "progress": find_progress,
        "nothing_moved": find_unmoved,
    }
)

_RARELY_FILLED = frozenset({"status", "success", "exit_code", "response_code", "failure", "nothing_moved"})
"""Quantities of columns that may be empty in all sampled rows, and yet say of one row that it failed."""
