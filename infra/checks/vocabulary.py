"""Refuse words of the project's former dialect in names and texts: `python -m infra.checks.vocabulary`.

`vocabulary.toml` lists each banned word with what to write instead, the names and files where a word is right, and the
words with which the docstring of a function must not begin.
A permission that nothing needs any more is refused, too.
"""

import ast
import fnmatch
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("vocabulary.toml")
FROZEN = "migrations/versions/"
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORDS = re.compile(r"[a-z]+")
_CODE = re.compile(r"`+[^`]*`+")
"""Names in texts, which are judged where they are defined."""
_VAGUE_TEST = re.compile(r"test_(what|who|of|where|how)_")
"""A test's name starts with its subject."""
_OPENING = re.compile(r"[A-Za-z]+")
_DOCSTRING_OF = "docstring of "
_FEWEST_WORDS = 3
"""A string of fewer words may be a key, a column or an option; it is not judged as text."""


@dataclass(frozen=True)
class Vocabulary:
    """Banned words of names and of texts, each with its replacement, and where a word is permitted."""

    names: Mapping[str, str]
    texts: Mapping[str, str]
    openings: frozenset[str]
    """First words of a docstring that begin a fragment instead of an imperative sentence."""
    permitted_names: Mapping[str, str]
    """A name that the project does not choose (wire field, column, library), and why."""
    permitted_files: Mapping[str, Mapping[str, str]]
    """Word → pattern of paths → why the word is right there."""
    permitted_openings: Mapping[str, str]
    """Pattern of paths → why docstrings may begin with such a word there."""

    @classmethod
    def from_toml(cls, text: str) -> "Vocabulary":
        document = tomllib.loads(text)
        permitted = document["permitted"]
        return cls(
            names=document["names"],
            texts=document["texts"],
            openings=frozenset(document["openings"]["words"]),
            permitted_names=permitted["names"],
            permitted_files=permitted["files"],
            permitted_openings=permitted["openings"],
        )

    def find_permission(self, finding: "BannedWord") -> str | None:
        """Return the key of what permits a banned word there: its name, or its word and a pattern of paths."""
        if finding.where in self.permitted_names:
            return finding.where
        is_opening = finding.where.startswith(_DOCSTRING_OF)
        patterns = self.permitted_openings if is_opening else self.permitted_files.get(finding.word, {})
        fitting = (pattern for pattern in patterns if fnmatch.fnmatch(finding.path, pattern))
        permitted = "openings" if is_opening else finding.word
        return next((f"{permitted} in {pattern}" for pattern in fitting), None)

    def list_permissions(self) -> set[str]:
        """Return the keys of all permissions."""
        in_files = {f"{word} in {pattern}" for word, patterns in self.permitted_files.items() for pattern in patterns}
        of_openings = {f"openings in {pattern}" for pattern in self.permitted_openings}
        return in_files | of_openings | self.permitted_names.keys()


@dataclass(frozen=True)
class BannedWord:
    """A banned word at a place."""

    path: str
    line: int
    where: str
    word: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.where}: write {self.instead} for '{self.word}'"


def find_in_source(path: str, source: str, vocabulary: Vocabulary) -> Iterator[BannedWord]:
    """Yield the banned words of one Python file, permitted or not: in names, docstrings, comments and messages."""
    is_test = path.startswith("tests/")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type == tokenize.NAME and not is_test:
            yield from _find_in_name(token.string, path, line, vocabulary)
        elif token.type == tokenize.COMMENT:
            yield from _find_in_text(token.string, path, line, vocabulary)
    for node in ast.walk(ast.parse(source)):
        if is_test and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _find_in_name(node.name, path, node.lineno, vocabulary)
            if vague := _VAGUE_TEST.match(node.name):
                yield BannedWord(path, node.lineno, node.name, vague[1], "the subject and what it does")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_test:
            yield from _find_in_opening(node, path, vocabulary)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not is_test:
            yield from _find_in_text(node.value, path, node.lineno, vocabulary)


def _find_in_name(name: str, path: str, line: int, vocabulary: Vocabulary) -> Iterator[BannedWord]:
    parts = [part.lower() for part in _PARTS.findall(name)]
    for word in (*parts, *map("_".join, pairwise(parts))):
        if word in vocabulary.names:
            yield BannedWord(path, line, name, word, vocabulary.names[word])


def _find_in_opening(
    function: ast.FunctionDef | ast.AsyncFunctionDef, path: str, vocabulary: Vocabulary
) -> Iterator[BannedWord]:
    """Yield the first word of a docstring that is a fragment; a property is a value, and may be described by a noun."""
    opening = _OPENING.match(ast.get_docstring(function) or "")
    if opening is None or any("property" in ast.unparse(each) for each in function.decorator_list):
        return
    if (word := opening[0].lower()) in vocabulary.openings:
        where = f"{_DOCSTRING_OF}{function.name}"
        yield BannedWord(path, function.lineno, where, word, "a sentence with an imperative verb")


def _find_in_text(text: str, path: str, line: int, vocabulary: Vocabulary) -> Iterator[BannedWord]:
    words = _WORDS.findall(_CODE.sub(" code ", text).lower())
    if len(words) < _FEWEST_WORDS:
        return
    spaced = f" {' '.join(words)} "
    for word, instead in vocabulary.texts.items():
        if f" {word} " in spaced:
            yield BannedWord(path, line, "text", word, instead)


def find_in_checkout(root: Path, vocabulary: Vocabulary) -> list[BannedWord]:
    """Return the banned words of every Python file that git tracks, apart from frozen migrations."""
    listed = subprocess.run(["git", "ls-files", "*.py", "run"], cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    paths = [path for path in listed.stdout.splitlines() if not path.startswith(FROZEN) and (root / path).is_file()]
    sources = ((path, (root / path).read_text(encoding="utf-8")) for path in paths)
    return [finding for path, source in sources for finding in find_in_source(path, source, vocabulary)]


def list_offences(findings: list[BannedWord], vocabulary: Vocabulary) -> list[str]:
    """Return a line for each banned word that nothing permits, and for each permission that nothing needs."""
    permissions = [vocabulary.find_permission(finding) for finding in findings]
    refused = [str(finding) for finding, permission in zip(findings, permissions, strict=True) if permission is None]
    unused = sorted(vocabulary.list_permissions() - set(permissions))
    return refused + [f"{LIST.name}: nothing needs the permission of {permission}" for permission in unused]


def main() -> int:
    vocabulary = Vocabulary.from_toml(LIST.read_text(encoding="utf-8"))
    offences = list_offences(find_in_checkout(ROOT, vocabulary), vocabulary)
    print("\n".join(offences))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
