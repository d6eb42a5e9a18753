"""The command line of ``aws s3 cp|sync|mv``: its places and options (awscli, ``customizations/s3/subcommands.py``)."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from tradewind.errors import InvalidValue
from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.movers.command_line import CommandLine, Grammar, ParsedWords, collect_words, read_words
from tradewind_agent.movers.object_stores.places import StoreReach, is_object_place, list_file_sizes
from tradewind_agent.stores.s3.address import SCHEME

VERBS = ("cp", "sync", "mv")
_VALUED = """
    endpoint-url output query profile region color ca-bundle cli-read-timeout cli-connect-timeout cli-binary-format
    cli-error-format include exclude acl sse-c-key sse-kms-key-id sse-c-copy-source-key storage-class website-redirect
    content-type cache-control content-disposition content-encoding content-language expires source-region page-size
    metadata copy-props metadata-directive expected-size checksum-mode checksum-algorithm case-conflict
    progress-frequency
"""
_WITH_OPTIONAL_VALUE = ("--sse", "--sse-c", "--sse-c-copy-source", "--request-payer")
_WITH_SEVERAL_VALUES = ("--grants",)
_GRAMMAR = Grammar(valued=frozenset(_VALUED.split()))
_SILENT = ("quiet", "only-show-errors")


@dataclass(frozen=True, slots=True)
class AwsWords:
    """``filters`` : patterns of ``--exclude`` and ``--include`` in their order; the last one that matches counts."""

    verb: str
    source: str
    destination: str
    options: ParsedWords
    filters: tuple[tuple[str, str], ...]

    @property
    def is_folder(self) -> bool:
        return self.verb == "sync" or "recursive" in self.options.options

    @property
    def reports(self) -> bool:
        """Return whether it prints what it moves."""
        return not any(name in self.options.options for name in _SILENT)

    def open_reach(self, environment: Mapping[str, str]) -> StoreReach:
        words = self.options
        access = StoreAccess(
            endpoint_url=words.find_last("endpoint-url"),
            region=words.find_last("source-region") or words.find_last("region"),
            profile=words.find_last("profile"),
            is_anonymous="no-sign-request" in words.options,
            pays="request-payer" in words.options,
        )
        ca_file = words.find_last("ca-bundle") or environment.get("AWS_CA_BUNDLE")
        return StoreReach(access, environment, "no-verify-ssl" not in words.options, ca_file)

    def list_sizes(self, reach: StoreReach) -> Mapping[str, int] | None:
        """Return the sizes of what the source holds by its filters, by path or address; ``None`` if unknown."""
        source = self.source
        if is_object_place(source):
            folder = self.is_folder and not source.endswith("/") and source.count("/") > 2
            sizes = reach.list_object_sizes(f"{source}/" if folder else source)
            root = source if self.is_folder else source.rpartition("/")[0]
        else:
            sizes = list_file_sizes(source)
            root = source if self.is_folder else os.path.dirname(source)  # noqa: PTH120 -- "" included
        if not sizes:
            return None
        return {name: size for name, size in sizes.items() if self._includes(name, root)}

    def _includes(self, name: str, root: str) -> bool:
        full, base = (name, root.rstrip("/")) if is_object_place(name) else map(os.path.abspath, (name, root))
        chosen = True
        for kind, pattern in self.filters:
            if fnmatch(full, f"{base}/{pattern}"):
                chosen = kind == "include"
        return chosen


def parse_words(line: CommandLine) -> AwsWords:
    """Return the parts of a command line.

    Raises
    ------
    InvalidValue : it copies nothing, or a stream, or has options that are not known here.
    """
    all_words = tuple(read_words(_join_values(line.arguments), _GRAMMAR))
    words = collect_words(all_words)
    if len(words.places) != 4 or words.places[0] != "s3" or words.places[1] not in VERBS:
        raise InvalidValue("aws", f"is wrapped with s3 and one of {', '.join(VERBS)}, a source and a destination")
    _, verb, source, destination = words.places
    if "-" in (source, destination):
        raise InvalidValue("aws", "copies a stream here, which is not tuned")
    if not any(is_object_place(place) for place in (source, destination)):
        raise InvalidValue("aws", f"is wrapped where one place begins with {SCHEME}")
    filters = tuple((word.name, word.value or "") for word in all_words if word.name in ("include", "exclude"))
    return AwsWords(verb, source, destination, words, filters)


def _join_values(words: Sequence[str]) -> list[str]:
    """Return the words with values of options that may have none, or several, in one word."""
    joined: list[str] = []
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if word in (*_WITH_OPTIONAL_VALUE, *_WITH_SEVERAL_VALUES):
            most = 1 if word in _WITH_OPTIONAL_VALUE else len(words)
            end = at
            while end < len(words) and end - at < most and not words[end].startswith("-"):
                end += 1
            joined.append(f"{word}={' '.join(words[at:end])}" if end > at else word)
            at = end
        else:
            joined.append(word)
    return joined
