"""The parser of a tool's command line, by the options that the tool's own help lists."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Options of one tool.

    ``valued`` : long names of options whose value may be the next word.
    ``names`` : long name by short letter, or by alias.
    ``single_dash`` : whether ``-name`` is one option (Globus), not letters in a row.
    """

    valued: frozenset[str]
    names: Mapping[str, str] = field(default_factory=dict)
    single_dash: bool = False


class CommandWord(NamedTuple):
    """An option, or a place, which has no ``name``. ``at`` : the word that holds it; ``None`` for one of a file."""

    at: int | None
    name: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class ParsedWords:
    """``options`` : values by long name, in order; a switch has "". ``places`` : the words that are no options."""

    options: Mapping[str, tuple[str, ...]]
    places: tuple[str, ...]

    def find_last(self, name: str) -> str | None:
        """Return the value that counts where an option is given more than once; ``None`` where it is not."""
        values = self.options.get(name)
        return values[-1] if values else None

    def parse_count(self, name: str) -> int | None:
        """Return a whole number that an option says; ``None`` where it is not given, or says none."""
        text = self.find_last(name)
        return int(text) if text is not None and text.isdecimal() else None


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A program, its arguments and its environment."""

    program: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def insert_options(self, ours: Sequence[str]) -> tuple[str, ...]:
        """Return all words, ``ours`` behind the user's options but before a ``--``."""
        end = self.arguments.index("--") if "--" in self.arguments else len(self.arguments)
        return (self.program, *self.arguments[:end], *ours, *self.arguments[end:])


def parse_help(text: str, *, switch_types: Iterable[str] = ()) -> Grammar:
    """Return what ``--help`` lists, a line an option: ``-o, --output <file>``, ``--retries int``, ``-d, --dir=DIR``.

    Parameters
    ----------
    switch_types : words after a name that stand for no value (rclone's ``count``).
    """
    listed = re.compile(r"^\s+(?:-(\S), )?--([\w.-]+)(=\S|\[|(?: (<|[A-Za-z]\S*(?=\s{2}|$)))?)", re.MULTILINE)
    valued, names = set(), {}
    for letter, name, mark, kind in listed.findall(text):
        if letter:
            names[letter] = name
        if mark.startswith("=") or (kind and kind not in switch_types):
            valued.add(name)
    return Grammar(valued=frozenset(valued), names=names)


def read_words(words: Sequence[str], grammar: Grammar) -> Iterator[CommandWord]:
    """Yield the options and places of ``words``, in their order, which do not include the program itself."""
    at = 0
    while at < len(words):
        word, here = words[at], at
        at += 1
        if word == "--":
            yield from (CommandWord(each, None, words[each]) for each in range(at, len(words)))
            return
        if word in ("-", "") or not word.startswith("-"):
            yield CommandWord(here, None, word)
            continue
        for name, value in _split_options(word, grammar):
            if value is None and name in grammar.valued and at < len(words):
                value, at = words[at], at + 1  # noqa: PLW2901  # the value is the next word
            yield CommandWord(here, name, value)


def collect_words(all_words: Iterable[CommandWord]) -> ParsedWords:
    """Return the options by their names, and the places."""
    options: dict[str, list[str]] = {}
    places: list[str] = []
    for word in all_words:
        values = places if word.name is None else options.setdefault(word.name, [])
        values.append(word.value or "")
    return ParsedWords({name: tuple(values) for name, values in options.items()}, tuple(places))


def parse(words: Sequence[str], grammar: Grammar) -> ParsedWords:
    """Return the options and places of ``words``, which do not include the program itself."""
    return collect_words(read_words(words, grammar))


def _split_options(word: str, grammar: Grammar) -> list[tuple[str, str | None]]:
    """Return the long names in one word, each with the value that the word itself holds."""
    if grammar.single_dash or word.startswith("--"):
        name, equals, value = word.lstrip("-").partition("=")
        return [(grammar.names.get(name, name), value if equals else None)]
    found: list[tuple[str, str | None]] = []
    for position, letter in enumerate(word[1:], 2):
        name = grammar.names.get(letter, letter)
        if name in grammar.valued:
            return [*found, (name, word[position:] or None)]
        found.append((name, None))
    return found


def remove_options(words: Sequence[str], grammar: Grammar, names: Iterable[str]) -> tuple[str, ...]:
    """Return the options among ``words``, in their order and by their long names, but for those of ``names``.

    No places.
    """
    left_out, options = frozenset(names), list[str]()
    for word in read_words(words, grammar):
        if word.name is not None and word.name not in left_out:
            dashes = "-" if grammar.single_dash or len(word.name) == 1 else "--"
            options += [f"{dashes}{word.name}"] if word.value is None else [f"{dashes}{word.name}", word.value]
    return tuple(options)
