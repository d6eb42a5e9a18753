"""A user's command line of curl as a list of files and the options that hold for each of them, where it is no more."""

from dataclasses import dataclass
from pathlib import Path

from tradewind_agent.movers.addresses import parse_address
from tradewind_agent.movers.command_line import Grammar, ParsedWords, parse, remove_options
from tradewind_agent.movers.curl.url_globs import MAX_ADDRESSES, expand_globs

_RUN_OPTIONS = frozenset({
    "next", ":", "config", "upload-file", "dump-header", "trace", "trace-ascii", "trace-config", "stderr", "libcurl",
    "cookie-jar", "hsts", "alt-svc", "etag-save", "remote-header-name", "no-clobber", "skip-existing", "rate",
    "variable",
})  # fmt: skip
"""Options whose effect would differ with every start, or that name files in a way that only curl can follow."""

UNREPEATABLE_OPTIONS = frozenset({
    "data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "form", "form-string", "json", "request",
})  # fmt: skip
"""Requests that may change something at the server: none is interrupted, to be made again."""

_NAMES = "the names of its files are not one for each address"

_REMOVED_OPTIONS = ("url", "output", "remote-name", "remote-name-all")


@dataclass(frozen=True, slots=True)
class CurlFile:
    """An address, the file it becomes, its size, and the configuration line that names the file."""

    address: str
    file: Path
    size_bytes: int
    name_line: str = ""


@dataclass(frozen=True, slots=True)
class FileList:
    """``words`` : the user's options without addresses and names; ``refusal`` : why there is no list, in a phrase."""

    pairs: tuple[CurlFile, ...]
    words: tuple[str, ...]
    refusal: str = ""


def parse_file_list(arguments: tuple[str, ...], words: ParsedWords, grammar: Grammar) -> FileList:
    """Return the files of a command line, sizes unknown (0) yet; none where it is not plainly such a list.

    ``words`` : its options, with those of the configuration.
    """
    refusal = _find_refusal(words)
    if refusal:
        return FileList((), arguments, refusal)
    typed = parse(arguments, grammar).options
    if any(typed.get(name) != words.options.get(name) for name in _REMOVED_OPTIONS):
        return FileList((), arguments, "your own configuration names files")
    addresses = words.places or words.options.get("url", ())
    each = [expand_globs(address) if "globoff" not in words.options else [address] for address in addresses]
    flat = [address for found in each for address in found]
    named = words.options.get("output", ())
    names = named or tuple(_get_last_segment(address) for address in flat)
    if len(flat) < 2 or len(flat) >= MAX_ADDRESSES:
        return FileList((), arguments, "there is one file" if len(flat) < 2 else "the list is too long")
    if not all(names) or "-" in names or len(set(names)) < len(names) or len(names) != len(flat):
        return FileList((), arguments, _NAMES)
    below = Path(words.find_last("output-dir") or ".")
    pairs = tuple(
        CurlFile(address, below / name, 0, f"output = {quote_value(name)}" if named else "remote-name")
        for address, name in zip(flat, names, strict=True)
    )
    return FileList(pairs, (*remove_options(arguments, grammar, _REMOVED_OPTIONS), "--globoff"))


def _find_refusal(words: ParsedWords) -> str:
    """Return why the options hinder a list, in a phrase; nothing where they do not."""
    options = words.options.keys()
    urls = words.options.get("url", ())
    if own := sorted(_RUN_OPTIONS & options):
        return f"your own {'--next' if own[0] == ':' else '--' + own[0]} holds for one run"
    if own := sorted(UNREPEATABLE_OPTIONS & options):
        return f"your own --{own[0]} is not to be sent twice"
    if words.options.get("continue-at", ("-",))[-1] != "-":
        return "your own --continue-at holds for one run"
    if (words.places and urls) or any("\\" in address for address in (*words.places, *urls)):
        return "its addresses are not a plain list"
    by_address = len(words.options.get("remote-name", ())) == len(words.places or urls)
    return _NAMES if ("output" in options) == ("remote-name-all" in options or by_address) else ""


def _get_last_segment(address: str) -> str:
    """Return what ``--remote-name`` makes of an address."""
    return parse_address(address if "://" in address else f"http://{address}").path.rpartition("/")[2]


_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\v": r"\v"})


def quote_value(text: str) -> str:
    """Return a value in curl's configuration file, on its one line."""
    return f'"{text.translate(_ESCAPED)}"'
