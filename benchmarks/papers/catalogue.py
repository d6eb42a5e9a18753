"""The file of claims that a run is given: ``facts.json``, which is no part of the project."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.errors import InvalidValue

FILE = "facts.json"

Values = Mapping[str, Any]
"""What a claim says in numbers and words, as JSON has it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One claim.

    Attributes
    ----------
    paper : its number, such as ``002``; ``place`` : in the paper; ``kind`` : result, equation, ...
    statement, note : the claim in words, and what whoever wrote the file says of it; some numbers are there alone.
    """

    id: str
    paper: str
    place: str
    kind: str
    statement: str
    values: Values
    note: str = ""

    def number_after(self, words: str) -> float:
        """The number that follows these words of the statement or the note.

        Raises
        ------
        InvalidValue : there is none, so that the file is another than this check was made for.
        """
        return float(self._after(words, r"\d+(?:\.\d+)?", "number"))

    def word_after(self, words: str) -> str:
        """The word that follows these of the statement or the note.

        Raises
        ------
        InvalidValue : there is none.
        """
        return self._after(words, r"\w+", "word")

    def _after(self, words: str, pattern: str, what: str) -> str:
        found = re.search(re.escape(words) + rf"\s*({pattern})", f"{self.statement} {self.note}")
        if found is None:
            raise InvalidValue(self.id, f"says no {what} after {words!r}")
        return found[1]


Facts = Mapping[str, Fact]


def read_facts(folder: Path) -> Facts:
    """All claims by id, in the order of the file.

    Raises
    ------
    InvalidValue : no such file, not JSON, a claim without what each needs, or two of one id.
    """
    path = folder / FILE
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["facts"]
        facts = [
            Fact(
                id=each["id"],
                paper=each["paper"].partition("_")[0],
                place=each["loc"],
                kind=each["kind"],
                statement=each["statement"],
                values=each["values"],
                note=each.get("note", ""),
            )
            for each in entries
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
        raise InvalidValue("data", f"{FILE} there cannot be read as a list of claims: {failure!r}") from None
    by_id = {fact.id: fact for fact in facts}
    if len(by_id) < len(facts):
        raise InvalidValue("data", f"{FILE} has the same id twice")
    return by_id
