"""How columns are read whose title alone does not show that they say how transfers ended: their cells have to fit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_titles import (
    is_about_checks,
    is_sure_exit,
    may_be_radio,
    may_be_unchecked,
    may_name_what_failed,
    needs_truths,
)
from tradewind_agent.history.importers.csv_verdicts import (
    LEAST_KNOWN,
    NoTransfer,
    Reader,
    Verdict,
    find_command,
    find_unmoved,
    normalise,
)
from tradewind_agent.history.importers.csv_words.cells import (
    COUNT,
    EXIT_CODES,
    KNOWN_RESPONSES,
    OK_RESPONSES,
    TRUTHS,
    is_named_error,
    names_failure,
    parse_code_number,
    parse_exit_code,
    parse_response,
    read_exit_code,
    read_failure,
    read_response,
    read_truth,
    read_word,
)
from tradewind_agent.history.importers.csv_words.phrases import find_word

_MISMATCHES = frozenset({"mismatch", "mismatched", "bad", "invalid", "corrupt", "corrupted", "different", "differs"})
_MATCHES = frozenset({"match", "matches", "matched"})
_SURE_TRUTHS = frozenset({"ok", "failed"})
"""Truth values that are states under any title."""

_UNSURE_ENDS = frozenset({"stopped", "partial"})
"""Words of states that a client or a process may have without a failure."""


def find_clear_failure(text: str) -> Verdict:
    """Read a further state next to one that says success: only a clear word of a failure is one."""
    if normalise(text) in _MISMATCHES:
        return Status.FAILED
    verdict = find_word(text)
    is_clear = verdict in (Status.FAILED, Status.CANCELLED) and normalise(text) not in _UNSURE_ENDS
    return verdict if verdict is not None and is_clear else Status.SUCCEEDED


def read_rare(quantity: str, title: str) -> Reader:
    """Return how a column is read in which no sampled row has a text: by each cell alone."""

    def read(text: str) -> Verdict:
        plain = text.strip()
        if quantity == "response_code" and parse_response(plain) in KNOWN_RESPONSES:
            return read_response(plain)
        reader = FURTHER_CHOICES[quantity](title, [plain])
        return Status.SUCCEEDED if reader is None else reader(text)

    return read


def _find_status(title: str, values: Sequence[str]) -> Reader | None:
    is_check = is_about_checks(title)
    if is_check and any(normalise(value) in _MISMATCHES for value in values):
        return _read_check
    verdicts = {find_word(value) for value in values}
    if all(parse_code_number(value) in EXIT_CODES for value in values):
        return read_exit_code if any(parse_code_number(value) == 0 for value in values) else None
    if not verdicts & {Status.FAILED, Status.CANCELLED} and (None in verdicts or Status.SUCCEEDED not in verdicts):
        return None
    return _read_check if is_check else _read_state


def find_unnamed(title: str, values: Iterable[str]) -> Reader | None:
    """Return how a column of no known title is read whose cells are states, ``None`` where some are none.

    It may be of something else than the transfer: a failure in it is refused.
    """
    verdicts = {_find_sure(value) for value in values}
    return partial(_read_unnamed, title) if None not in verdicts and Status.SUCCEEDED in verdicts else None


def _find_sure(text: str) -> Verdict | None:
    plain = normalise(text)
    if plain in _MISMATCHES | _MATCHES:
        return Status.FAILED if plain in _MISMATCHES else Status.SUCCEEDED
    return None if plain in TRUTHS - _SURE_TRUTHS else find_word(text)


def _read_unnamed(title: str, text: str) -> Verdict:
    if _find_sure(text) in (Status.FAILED, Status.CANCELLED):
        advice = "call it status if it says how the transfer ended, or else add a column status"
        raise InvalidValue("outcome.status", f"is {text.strip()[:40]!r} in the column {title[:40]}; {advice}")
    return Status.SUCCEEDED


def _read_state(text: str) -> Verdict:
    """Read a word among words of states, where a number may be an exit code or a truth value."""
    if text.strip() in ("0", "1"):
        raise InvalidValue("outcome.status", f"is {text.strip()} where other rows have words, which may mean either")
    return read_word(text)


def _read_check(text: str) -> Verdict:
    """Read how a check ended; that none was made says nothing of the transfer."""
    has_failed = normalise(text) in _MISMATCHES or find_word(text) is Status.FAILED
    return Status.FAILED if has_failed else Status.SUCCEEDED


def _find_truth(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column such as ``copy_ok`` is read, ``None`` where it holds other than truth values."""
    reader: Reader = partial(_read_verified, title) if may_be_unchecked(title) else read_truth
    others = [value for value in values if not _is_truth(value)]
    if others:
        has_text = any(parse_code_number(value) is None for value in others)
        is_mixed = any(map(names_failure, others)) or (has_text and len(others) <= (1 - LEAST_KNOWN) * len(values))
        return _read_mixed(reader, title, _is_truth) if is_mixed else None
    has_success = any(read_truth(value) is Status.SUCCEEDED for value in values)
    return reader if has_success or not may_be_unchecked(title) else None


def _is_truth(text: str) -> bool:
    return normalise(text) in TRUTHS and "-" not in text


def _read_verified(title: str, text: str) -> Verdict:
    if read_truth(text) is Status.SUCCEEDED:
        return Status.SUCCEEDED
    advice = "call the column checksum_ok if it is a failure"
    raise InvalidValue(
        "outcome.status", f"is {text.strip()} in the column {title}, which may mean that nothing was checked; {advice}"
    )


def _read_mixed(reader: Reader, title: str, takes: Callable[[str], bool]) -> Reader:
    """Return how a column of codes or truth values is read that names failures, too; what is not known is refused."""

    def read(text: str) -> Verdict:
        if takes(text):
            return reader(text)
        if is_named_error(text):
            return Status.FAILED
        verdict = find_word(text)
        if verdict is None or isinstance(verdict, NoTransfer):
            advice = "rename the column if it does not say how a transfer ended"
            raise InvalidValue(
                "outcome.status", f"is {text.strip()[:40]!r} in the column {title}, which is no known word; {advice}"
            )
        return verdict

    return read


def _find_exit_code(title: str, values: Sequence[str]) -> Reader | None:
    codes = [parse_exit_code(value) for value in values]
    is_sure = is_sure_exit(title)
    if None in codes:
        has_code = any(code is not None for code in codes)
        is_mixed = any(map(names_failure, values)) or (is_sure and has_code)
        return _read_mixed(_read_exit_code, title, _is_exit_code) if is_mixed else None
    is_range = 0 in codes and all(code in EXIT_CODES for code in codes)
    return _read_exit_code if is_sure or (is_range and not may_be_radio(title)) else None


def _is_exit_code(text: str) -> bool:
    return parse_exit_code(text) is not None


def _read_exit_code(text: str) -> Verdict:
    code = parse_exit_code(text)
    return read_exit_code(text if code is None else str(code))


def _find_response(title: str, values: Sequence[str]) -> Reader | None:
    """Return how replies of a server are read: numbers that are no codes, or without a success, may be times."""
    has_success = any(parse_response(value) in OK_RESPONSES for value in values)
    has_text = any(parse_response(value) is None and _parse_number(value) is None for value in values)
    if any(map(names_failure, values)) or (has_text and has_success):
        return _read_mixed(read_response, title, _is_response)
    is_sure = has_success or "code" in title.lower() or any(_parse_number(value) is None for value in values)
    others = [value for value in values if not has_success or parse_response(value) != 0]  # 0 is that of no reply
    return read_response if is_sure and all(map(_is_response, others)) else None


def _is_response(text: str) -> bool:
    return parse_response(text) in KNOWN_RESPONSES


def _find_failure(title: str, values: Sequence[str]) -> Reader | None:
    """Return how a column of errors is read, ``None`` for shares of errors, and for names of what failed."""
    is_mark = needs_truths(title) and not may_name_what_failed(title)
    if is_mark and not all(normalise(value) in TRUTHS for value in values):
        return None
    numbers = [_parse_number(value) for value in values]
    if any(number is not None and not number.is_integer() for number in numbers):
        return None
    if may_name_what_failed(title) and any(
        number is None and normalise(value) not in TRUTHS and not names_failure(value) and not COUNT.fullmatch(value)
        for number, value in zip(numbers, values, strict=True)
    ):
        return None
    return read_failure


def _parse_number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


FURTHER_CHOICES: Mapping[str, Callable[[str, Sequence[str]], Reader | None]] = MappingProxyType(
    {
        "status": _find_status,
        "success": _find_truth,
        "exit_code": _find_exit_code,
        "response_code": _find_response,
        "failure": _find_failure,
        "operation": lambda _title, values: find_command(values),
        "nothing_moved": find_unmoved,
    }
)
"""How a column is chosen and read, by its quantity: by its title alone it might hold anything."""
