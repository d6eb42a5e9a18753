"""Whether a server refuses requests because of their Range, as its answers without it show."""

from dataclasses import dataclass, field
from enum import Enum, auto


class MissingAnswer(Enum):
    """How a request had no answer: its connection was dropped, or silent for too long."""

    DROPPED = auto()
    SILENT = auto()


Refusal = int | MissingAnswer
"""A kind of refusal: a status, or no answer."""

_MAY_BE_CHANCE = frozenset({500, *MissingAnswer})


@dataclass(slots=True)
class RangeRefusals:
    """Refusals of requests with Range by one server, and what requests without it have shown of them.

    Attributes
    ----------
    has_sent_part : a request with Range was answered by a part, so that refusals have other reasons.
    are_final : no Range is sent any more.
    """

    has_sent_part: bool = False
    are_final: bool = False
    _due_to_range: dict[Refusal, int] = field(default_factory=dict)
    _due_to_file: set[Refusal] = field(default_factory=set)

    def may_test(self, refusal: Refusal) -> bool:
        """Return whether a file requested without Range would show something new."""
        return not (self.has_sent_part or self.are_final or refusal in self._due_to_file)

    def note_refused_without(self, refusal: Refusal) -> None:
        """Note that a file was refused without Range as well."""
        self._due_to_file.add(refusal)

    def note_sent_without(self, refusal: Refusal, requests: int, *, states_ranges: bool) -> None:
        """Note that a file came without Range; final unless chance or the server's own words are against it.

        ``requests`` : sent to the server so far.
        """
        self._due_to_range.setdefault(refusal, requests)
        self.are_final = not (self.has_sent_part or states_ranges or refusal in _MAY_BE_CHANCE)

    def confirm(self, refusal: Refusal, request: int) -> bool:
        """Return whether a refusal is due to the range, as one before it was sent; then that is final."""
        is_known = refusal in self._due_to_range and request > self._due_to_range[refusal]
        self.are_final = self.are_final or (is_known and not self.has_sent_part)
        return self.are_final

    def note_part(self) -> bool:
        """Note that a part has come; return whether parts were not requested any more."""
        was_final, self.are_final, self.has_sent_part = self.are_final, False, True
        return was_final
