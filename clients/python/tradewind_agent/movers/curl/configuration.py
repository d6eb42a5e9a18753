"""The options of a curl run: of its command line, and of the configuration files that it reads (curl(1), --config)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tradewind_agent.movers.command_line import CommandLine, CommandWord, Grammar, read_words

MARK = b"\x1e"
"""Record separator: what follows it up to the line's end is a report, not something for the user."""

_REPORT = "%{stderr}" + MARK.decode() + "%{json}\n"

_COMMENTS = ("#", "/", "*")
_LINE = re.compile(r'(?P<word>-\S*|[^\s=:]+)[\s=:]*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<plain>\S*))')
_ESCAPES: Mapping[str, str] = {"t": "\t", "n": "\n", "r": "\r", "v": "\v"}


def read_curl_words(line: CommandLine, grammar: Grammar) -> Iterator[CommandWord]:
    """Yield all options and places in the order in which curl takes them, so that the last of an option counts.

    A configuration that another one names is not read.
    """
    for path in _find_curlrc(line):
        yield from _read_file_words(path, grammar)
    for word in read_words(line.arguments, grammar):
        yield word
        if word.name == "config" and word.value != "-":  # what comes by standard input is curl's to read
            yield from _read_file_words(Path(word.value or ""), grammar)


def add_reports(line: CommandLine, grammar: Grammar, each: Sequence[str] = ()) -> CommandLine:
    """Return ``line`` with a report behind what the user has curl write.

    Parameters
    ----------
    each : further words, for every request: ``--next`` starts a new one, without options.
    """
    words, taken, own = list[str](), 0, ""
    for word in read_curl_words(line, grammar):
        if word.name == "write-out":
            own = word.value or ""
        elif word.name in ("next", ":"):
            if word.at is not None:
                words += [*line.arguments[taken : word.at], *each, *_make_report_option(own)]
                taken = word.at
            own = ""
    rest = replace(line, arguments=line.arguments[taken:])
    return replace(line, arguments=(*words, *rest.insert_options((*each, *_make_report_option(own)))[1:]))


def _make_report_option(own: str) -> tuple[str, str]:
    if own.startswith("@"):
        try:
            own = Path(own[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            own = ""
    return ("--write-out", own + _REPORT)


def _find_curlrc(line: CommandLine) -> tuple[Path, ...]:
    """Return the file that curl begins with: the first one that there is, unless the first word is ``-q``."""
    if line.arguments and (line.arguments[0].startswith("-q") or line.arguments[0] == "--disable"):
        return ()
    folders = [line.environment.get(name) for name in ("CURL_HOME", "XDG_CONFIG_HOME", "HOME")]
    places = [Path(folder) / ".curlrc" for folder in folders if folder]
    if folders[2] and not folders[1]:
        places.append(Path(folders[2]) / ".config" / "curlrc")
    return next(((place,) for place in places if place.is_file()), ())


def _read_file_words(path: Path, grammar: Grammar) -> Iterator[CommandWord]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    words = [_to_word(line) for line in map(str.strip, lines) if line and not line.startswith(_COMMENTS)]
    yield from (word._replace(at=None) for word in read_words(words, grammar))


def _to_word(line: str) -> str:
    """Return a line as the equivalent word of a command line."""
    found = _LINE.match(line)
    if found is None:
        return ""
    quoted = found["quoted"]
    value = found["plain"] if quoted is None else re.sub(r"\\(.)", lambda each: _ESCAPES.get(each[1], each[1]), quoted)
    word = found["word"]
    if word.startswith("-") and not word.startswith("--"):
        return word + value
    return f"--{word.removeprefix('--')}={value}"
