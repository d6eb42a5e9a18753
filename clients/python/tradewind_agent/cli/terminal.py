"""The output of a command: results on standard output, everything else on standard error."""

import contextlib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tradewind_agent.query_secrets import hide_query_secrets

PROGRAM = "tradewind"


class PartlyDone(Exception):
    """A command failed, for the reason that is its cause, when part of its work was done.

    Attributes
    ----------
    text, document : what was done, for people and for programs.
    """

    def __init__(self, text: str, document: Mapping[str, Any]) -> None:
        self.text, self.document = text, document
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Terminal:
    """The output of one command.

    ``json`` : its result is one JSON document and nothing else.
    ``quiet`` : nobody wants to know how far it is.
    """

    json: bool = False
    quiet: bool = False

    @property
    def shows_progress(self) -> bool:
        """Whether to say how far a long work is."""
        return not (self.json or self.quiet)

    @property
    def interactive(self) -> bool:
        """Whether a person is watching, so that a progress bar makes sense."""
        return self.shows_progress and sys.stderr.isatty()

    def print_result(self, text: str, document: Mapping[str, Any]) -> None:
        """Print the outcome of the command: ``text`` for people, ``document`` for programs."""
        if self.json:
            sys.stdout.writelines(json.JSONEncoder(default=str).iterencode(document))  # it may name a million files
        print("" if self.json else escape_unprintable(text), flush=True)

    def report_failure(self, line: str, exit_code: int, done: "PartlyDone | None" = None) -> None:
        """Report why there is no result, or only what was ``done``; the document of a program holds the same line."""
        if self.json or done is not None:
            text, document = ("", {}) if done is None else (done.text, done.document)
            with contextlib.suppress(BrokenPipeError):
                self.print_result(text, {**document, "error": format_one_line(line), "exit_code": exit_code})
        self.note(line)

    def print_table(self, heads: Sequence[str], rows: Iterable[Sequence[str]], document: Mapping[str, Any]) -> None:
        """Print rows under heads, columns aligned."""
        if self.json:
            self.print_result("", document)
            return
        cells = [tuple(heads), *(tuple(escape_unprintable(cell) for cell in row) for row in rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
        for row in cells:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        sys.stdout.flush()

    def note(self, line: str) -> None:
        """Print one line that is not part of the result to standard error."""
        print(f"{PROGRAM}: {format_one_line(line)}", file=sys.stderr, flush=True)


def format_one_line(text: str) -> str:
    """Return ``text`` on one line, with what moves a terminal's cursor spelt out, and no secrets of addresses."""
    return escape_unprintable(hide_query_secrets(" ".join(text.split())))


def escape_unprintable(text: str) -> str:
    """Return the text with control characters and lone surrogates spelt out.

    Names out of other people's files are not to steer a terminal, and those of files may be no text at all.
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
