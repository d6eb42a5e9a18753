"""Digests of sources, without comments, docstrings and blank lines.

A measured figure thus outlives a better wording. A benchmark's programs are started and compiled while it runs: what it
measures counts only if the sources are still those that it started with.
"""

import ast
import hashlib
import io
import re
import string
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.support.report import ROOT
from tradewind.errors import TradewindError

_DIGITS = 12
_SUFFIXES = (".py", ".c", ".h")
_C_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


class SourcesChanged(TradewindError):
    """The sources changed during a measurement, so that it belongs to neither version."""

    def __init__(self) -> None:
        super().__init__("the sources changed while they were measured; start again")


@dataclass(frozen=True, slots=True)
class Sources:
    """Parts of the sources when a benchmark started; made before it starts, installs or compiles anything.

    Attributes
    ----------
    parts : names files and folders of the project, as for `digest_parts`.
    digests : of each part; rows are stored under them.
    contents : a digest of each part's files with all comments, which is much quicker to compute.
    """

    parts: Mapping[str, Sequence[str]]
    digests: Mapping[str, str]
    contents: Mapping[str, str]

    @classmethod
    def of(cls, parts: Mapping[str, Sequence[str]]) -> "Sources":
        contents = {part: _digest_contents(paths) for part, paths in parts.items()}
        return cls(parts, digest_parts(parts), contents)

    def require_unchanged(self, part: str) -> None:
        """Check that what was made since the start comes from these sources; call it before a row is stored.

        Raises
        ------
        SourcesChanged : by more than a wording.
        """
        paths = self.parts[part]
        try:
            changed = (
                _digest_contents(paths) != self.contents[part]
                and digest_parts({part: paths})[part] != self.digests[part]
            )
        except (FileNotFoundError, SyntaxError, tokenize.TokenError):  # missing, or half written
            changed = True
        if changed:
            raise SourcesChanged


def digest_parts(parts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a digest of the sources of each part, under the part's name; ``parts`` names files and folders of the
    project.

    Raises
    ------
    FileNotFoundError : a source that is missing: a digest without it would hold for ever.
    """
    return {part: _digest_files(_list_sources(ROOT / path for path in paths)) for part, paths in parts.items()}


def digest_values(*values: object) -> str:
    """Return a digest of values, by their ``repr``."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:_DIGITS]


def is_digest(text: str) -> bool:
    """Return whether a text may be a digest of a part."""
    return len(text) == _DIGITS and not text.strip(string.hexdigits)


def _list_sources(paths: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        found += (file for file in path.rglob("*") if file.suffix in _SUFFIXES) if path.is_dir() else [path]
    return sorted(found)


def _digest_contents(paths: Iterable[str]) -> str:
    state = hashlib.sha256()
    for file in _list_sources(ROOT / path for path in paths):
        state.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
    return state.hexdigest()


def _digest_files(files: Iterable[Path]) -> str:
    state = hashlib.sha256()
    for file in files:
        text = file.read_text(encoding="utf-8")
        code = strip_python(text) if file.suffix == ".py" else _strip_blank_lines(_C_COMMENT.sub("", text))
        state.update(f"{file.relative_to(ROOT)}\0{code}\0".encode())
    return state.hexdigest()[:_DIGITS]


@cache
def strip_python(text: str) -> str:
    """Return Python source without comments, docstrings and blank lines.

    They are cut out of the text, because what a parser prints differs from one version of Python to the next. Each text
    is parsed once a process: parts share files, and each is read several times.
    """
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return _strip_blank_lines("\n".join(lines))


def _strip_blank_lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
