"""Digests of sources: of what a program does, not of what is said about it.

Comments, docstrings and blank lines are left out, so that a measured figure outlives a better wording. Programs of a
benchmark are started and compiled while it runs: what is measured counts only if the sources are still those that it
began with.
"""

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.report import ROOT
from tradewind.errors import TradewindError

_DIGITS = 12
_SUFFIXES = (".py", ".c", ".h")
_C_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


class SourcesChanged(TradewindError):
    """What was measured is neither of the sources at the start nor of those now."""

    def __init__(self) -> None:
        super().__init__("the sources changed while they were measured; start again")


@dataclass(frozen=True, slots=True)
class Sources:
    """Parts of the sources as a benchmark began with them; made before it starts, installs or compiles anything.

    Attributes
    ----------
    parts : names files and folders of the project, as for `digests`.
    digests : of each part, what rows are kept by.
    contents : a digest of each part's files as they are, comments and all, which is told much quicker.
    """

    parts: Mapping[str, Sequence[str]]
    digests: Mapping[str, str]
    contents: Mapping[str, str]

    @classmethod
    def of(cls, parts: Mapping[str, Sequence[str]]) -> "Sources":
        contents = {part: _contents(paths) for part, paths in parts.items()}
        return cls(parts, digests(parts), contents)

    def require_unchanged(self, part: str) -> None:
        """Whether what was made since the start is of these sources; asked after each row, before it is kept.

        Raises
        ------
        SourcesChanged : of this part, by more than a wording.
        """
        paths = self.parts[part]
        try:
            changed = _contents(paths) != self.contents[part] and digests({part: paths})[part] != self.digests[part]
        except (FileNotFoundError, SyntaxError, tokenize.TokenError):  # gone, or half written
            changed = True
        if changed:
            raise SourcesChanged


def digests(parts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """A digest of the sources of each part, under the part's name; ``parts`` names files and folders of the project.

    Raises
    ------
    FileNotFoundError : a source that is missing: a digest without it would hold for ever.
    """
    return {part: _digest(_sources(ROOT / path for path in paths)) for part, paths in parts.items()}


def digest_of(*facts: object) -> str:
    """A digest of values, by how they are written."""
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:_DIGITS]


def _sources(paths: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        found += (each for each in path.rglob("*") if each.suffix in _SUFFIXES) if path.is_dir() else [path]
    return sorted(found)


def _contents(paths: Iterable[str]) -> str:
    state = hashlib.sha256()
    for file in _sources(ROOT / path for path in paths):
        state.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
    return state.hexdigest()


def _digest(files: Iterable[Path]) -> str:
    state = hashlib.sha256()
    for file in files:
        text = file.read_text(encoding="utf-8")
        code = python_code(text) if file.suffix == ".py" else _without_blank_lines(_C_COMMENT.sub("", text))
        state.update(f"{file.relative_to(ROOT)}\0{code}\0".encode())
    return state.hexdigest()[:_DIGITS]


def python_code(text: str) -> str:
    """Python source without comments, docstrings and blank lines.

    Taken out of the text: what a parser prints differs from one version of Python to the next.
    """
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return _without_blank_lines("\n".join(lines))


def _without_blank_lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
