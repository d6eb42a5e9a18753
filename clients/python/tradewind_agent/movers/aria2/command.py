"""An aria2c command line: its addresses, and the configuration that our RPC settings are added to."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind_agent.movers.command_line import ParsedWords


def list_addresses(words: ParsedWords) -> tuple[str, ...]:
    """Return one address a download: of an input file's lines, where tabs part mirrors, else of the command line.

    Raises
    ------
    InvalidValue : an input file that cannot be read.
    """
    listed = words.find_last("input-file")
    if listed is not None and listed != "-":
        try:
            text = Path(listed).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as failure:
            raise InvalidValue("aria2c", f"cannot read its input file {listed}: {failure}") from None
        lines = (line for line in text.splitlines() if line.strip() and not line.startswith((" ", "\t", "#")))
        return tuple(line.split("\t")[0].strip() for line in lines)
    separate = words.find_last("force-sequential") in ("", "true")
    return words.places if separate else words.places[:1]  # several on one line are mirrors of one file


def list_folders(words: ParsedWords) -> tuple[Path, ...]:
    """Return where downloads go: the folder of the command line, and those that an input file names for some."""
    folders = [Path(words.find_last("dir") or ".")]
    listed = words.find_last("input-file")
    if listed is not None and listed != "-":
        with suppress(OSError, UnicodeDecodeError):
            lines = map(str.strip, Path(listed).read_text(encoding="utf-8").splitlines())
            folders += [Path(line.removeprefix("dir=")) for line in lines if line.startswith("dir=")]
    return tuple(dict.fromkeys(folders))


def read_configuration(words: ParsedWords, environment: Mapping[str, str]) -> Sequence[str]:
    """Return the lines of the configuration file that aria2c would read."""
    if "no-conf" in words.options:
        return ()
    home = Path(environment.get("HOME", ""))
    places = [home / ".aria2" / "aria2.conf"]
    places.append(Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "aria2" / "aria2.conf")
    stated = words.find_last("conf-path")
    for place in [Path(stated)] if stated else places:
        try:
            return place.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
    return ()


def parse_options(configuration: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the options that a configuration sets."""
    pairs = (line.partition("=") for line in configuration if "=" in line and not line.lstrip().startswith("#"))
    return {name.strip(): (value.strip(),) for name, _, value in pairs}
