"""Whether a server refuses requests because of their Range, as its answers without it show."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol


class MissingAnswer(Enum):
    """How a request had no answer: its connection was dropped, or silent for too long."""

    DROPPED = auto()
    SILENT = auto()


Refusal = int | MissingAnswer
"""A kind of refusal: a status, or no answer."""

_INTERNAL_ERROR = 500
_MAY_BE_CHANCE = frozenset({_INTERNAL_ERROR, MissingAnswer.DROPPED})


class RefusedFile(Protocol):
    """A file that was refused with Range. A protocol, because files are the layer above."""

    is_over: bool


class RangeTest:
    """One file requested without Range, after a refusal of this kind of a request with it."""

    def __init__(self, refusal: Refusal, file: RefusedFile) -> None:
        self.refusal = refusal
        self._file = file
        self._has_ended = False

    @property
    def is_open(self) -> bool:
        """Return whether it may still show something."""
        return not (self._has_ended or self._file.is_over)

    def end(self) -> None:
        self._has_ended = True


@dataclass(slots=True)
class RangeRefusals:
    """Refusals of requests with Range by one server, and what tests without Range have shown of them.

    A server that has sent a part refuses for other reasons. One that has not may have refused by chance as well, so
    that ranges are tried once more where it says that it has them, or where the refusal is one that chance makes.

    Attributes
    ----------
    has_sent_part : a request with Range was answered by a part.
    are_final : no Range is sent any more.
    """

    has_sent_part: bool = False
    are_final: bool = False
    _is_recheck_used: bool = False
    _due_to_range: set[Refusal] = field(default_factory=set)
    _due_to_file: set[Refusal] = field(default_factory=set)
    _tests: dict[Refusal, RangeTest] = field(default_factory=dict)

    def may_test(self, refusal: Refusal) -> bool:
        """Return whether a file requested without Range would show something new."""
        return not (self.has_sent_part or self.are_final or refusal in self._due_to_file)

    def find_test(self, refusal: Refusal) -> RangeTest | None:
        """Return the test of a kind of refusal that is under way."""
        test = self._tests.get(refusal)
        return test if test is not None and test.is_open else None

    def start_test(self, refusal: Refusal, file: RefusedFile) -> RangeTest:
        test = self._tests[refusal] = RangeTest(refusal, file)
        return test

    def suspects_range(self, refusal: Refusal) -> bool:
        """Return whether a refusal is taken to be due to the range, as an earlier one was."""
        return self.are_final or (not self.has_sent_part and refusal in self._due_to_range)

    def confirm(self, refusal: Refusal) -> bool:
        """Return whether a refusal is due to the range; then that is final."""
        self.are_final = self.suspects_range(refusal)
        return self.are_final

    def note_refused_without(self, refusal: Refusal) -> None:
        """Note that a file was refused without Range as well."""
        self._due_to_file.add(refusal)

    def note_sent_without(self, refusal: Refusal, *, states_ranges: bool) -> bool:
        """Note that a file came without Range; return whether ranges are to be tried once more."""
        if self.has_sent_part:
            return False
        self._due_to_range.add(refusal)
        if not self._is_recheck_used and (states_ranges or refusal in _MAY_BE_CHANCE):
            self._is_recheck_used = True
            return True
        self.are_final = True
        return False

    def note_stated_ranges(self) -> bool:
        """Note that the server says that it has ranges; return whether they are to be tried once more."""
        is_recheck = self.are_final and not self._is_recheck_used
        if is_recheck:
            self._is_recheck_used, self.are_final = True, False
        return is_recheck

    def note_part(self) -> bool:
        """Note that a part has come; return whether parts were not requested any more."""
        was_final, self.are_final, self.has_sent_part = self.are_final, False, True
        return was_final
