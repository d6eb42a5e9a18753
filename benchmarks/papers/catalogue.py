"""Read the file of claims that a run is given: ``facts.json``, which is no part of the project."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.errors import InvalidValue

FILE = "facts.json"

Values = Mapping[str, Any]
"""The numbers and words of a claim, as JSON has them."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Attributes
    ----------
    paper : its number, such as ``002``; ``place`` : in the paper; ``kind`` : result, equation, ...
    statement, note : the claim in words, and a remark of the file's author; some numbers are only there.
    """

    id: str
    paper: str
    place: str
    kind: str
    statement: str
    values: Values
    note: str = ""

    def find_number_after(self, words: str) -> float:
        """Return the number that follows these words of the statement or the note.

        Raises
        ------
        InvalidValue : there is none: the file is another than this check was made for.
        """
        return float(self._find_after(words, r"\d+(?:\.\d+)?", "number"))

    def find_word_after(self, words: str) -> str:
        """Return the word that follows these of the statement or the note.

        Raises
        ------
        InvalidValue : there is none.
        """
        return self._find_after(words, r"\w+", "word")

    def _find_after(self, words: str, pattern: str, what: str) -> str:
        found = re.search(re.escape(words) + rf"\s*({pattern})", f"{self.statement} {self.note}")
        if found is None:
            raise InvalidValue(self.id, f"says no {what} after {words!r}")
        return found[1]


Claims = Mapping[str, Claim]


def read_claims(folder: Path) -> Claims:
    """Return all claims by id, in the order of the file.

    Raises
    ------
    InvalidValue : no such file, not JSON, a claim without a required field, or two of one id.
    """
    path = folder / FILE
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["facts"]
        claims = [
            Claim(
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
    by_id = {claim.id: claim for claim in claims}
    if len(by_id) < len(claims):
        raise InvalidValue("data", f"{FILE} has the same id twice")
    return by_id
