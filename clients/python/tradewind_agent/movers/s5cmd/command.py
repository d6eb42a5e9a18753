"""The command line of ``s5cmd cp|sync|mv``: options of all commands before the command's name, its own behind it.

Options end at the first place, as Go's parser of flags has it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import glob

from tradewind.errors import InvalidValue
from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.movers.command_line import CommandLine, Grammar, ParsedWords, collect_words, read_words
from tradewind_agent.movers.object_stores.places import StoreReach, is_object_place, list_file_sizes
from tradewind_agent.stores.s3.address import SCHEME

COMMANDS = ("cp", "sync", "mv")
_VALUED = re.compile(r"^\s+--([\w-]+) value(?:, -(\w) value)?", re.MULTILINE)
_SWITCH = re.compile(r"^\s+--([\w-]+), --?(\w+)\s", re.MULTILINE)
_WILD = re.compile(r"[*?]")
_READ_LEVELS = ("trace", "debug", "info")
"""Levels of ``--log`` at which it prints what it moves."""

_CHOICES = ("include", "exclude", "no-clobber", "if-size-differ", "if-source-newer", "version-id", "delete")
"""Options by which it moves other files than those that its source names."""


@dataclass(frozen=True, slots=True)
class S5cmdWords:
    """``at`` : the position of the command's name; ``general`` : options of all commands, ``own`` : of this one."""

    at: int
    command: str
    general: ParsedWords
    own: ParsedWords

    @property
    def places(self) -> tuple[str, str]:
        return self.own.places[0], self.own.places[1]

    @property
    def silence(self) -> str | None:
        """Return the option by which the user has it print something else than what it moves."""
        if {"show-progress", "sp"} & self.own.options.keys():
            return "--show-progress"
        level = self.general.find_last("log")
        return None if level is None or level in _READ_LEVELS else f"--log {level}"

    @property
    def is_exact(self) -> bool:
        """Return whether it moves just what its source names."""
        return self.command != "sync" and not any(name in self.own.options for name in _CHOICES)

    def open_reach(self, environment: Mapping[str, str]) -> StoreReach:
        words = self.general
        access = StoreAccess(
            endpoint_url=words.find_last("endpoint-url") or environment.get("S3_ENDPOINT_URL"),
            region=self.own.find_last("source-region"),
            profile=words.find_last("profile"),
            is_anonymous="no-sign-request" in words.options,
            pays="request-payer" in words.options,
        )
        return StoreReach(access, environment, "no-verify-ssl" not in words.options)

    def list_sizes(self, reach: StoreReach) -> Mapping[str, int] | None:
        """Return the sizes of what the source names, by path or address; ``None`` if unknown."""
        source, is_raw = self.places[0], "raw" in self.own.options
        if not is_object_place(source):
            paths = [source] if is_raw or not _WILD.search(source) else glob(source)  # noqa: PTH207
            return {name: size for path in paths for name, size in list_file_sizes(path).items()} or None
        wild = None if is_raw else _WILD.search(source)
        if wild is None:
            return reach.list_object_sizes(source)
        folder = source[: wild.start()].rpartition("/")[0]
        found = reach.list_object_sizes(f"{folder}/") or {}
        pattern = source.replace("[", "[[]")
        return {name: size for name, size in found.items() if fnmatchcase(name, pattern)} or None

    def insert_options(self, line: CommandLine, general: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
        """Return all words, with options before and behind the command's name."""
        before, behind = line.arguments[: self.at], line.arguments[self.at + 1 :]
        return (line.program, *before, *general, self.command, *own, *behind)


def parse_words(line: CommandLine, general_help: str, own_help: str) -> S5cmdWords:
    """Return the parts of a command line.

    Raises
    ------
    InvalidValue : it copies nothing.
    """
    general, at = _parse_until_place(line.arguments, _parse_help(general_help))
    command = line.arguments[at] if at < len(line.arguments) else ""
    if command in COMMANDS:
        own, _ = _parse_until_place(line.arguments[at + 1 :], _parse_help(own_help))
        if len(own.places) == 2 and any(is_object_place(place) for place in own.places):
            return S5cmdWords(at, command, general, own)
    raise InvalidValue(
        "s5cmd", f"is wrapped with one of {', '.join(COMMANDS)} and two places; at least one begins with {SCHEME}"
    )


def _parse_help(text: str) -> Grammar:
    valued = _VALUED.findall(text)
    aliases = {alias: name for name, alias in (*valued, *_SWITCH.findall(text)) if alias}
    return Grammar(valued=frozenset(name for name, _ in valued), names=aliases, single_dash=True)


def _parse_until_place(words: Sequence[str], grammar: Grammar) -> tuple[ParsedWords, int]:
    """Return the options up to the first place with all that follows as places, and where that is."""
    all_words = tuple(read_words(words, grammar))
    first = next((word.at for word in all_words if word.name is None and word.at is not None), len(words))
    options = collect_words(word for word in all_words if word.name is not None and (word.at or 0) < first).options
    return ParsedWords(options, tuple(words[first:])), first
