"""Which host an rclone remote is on, as far as its options, the environment or the configuration file say."""

import configparser
import re
from collections.abc import Mapping
from pathlib import Path

from tradewind_agent.movers.addresses import parse_address
from tradewind_agent.movers.command_line import ParsedWords

_KEYS = ("url", "host", "endpoint")
"""Options of backends that hold where the server is (rclone docs: http, webdav, sftp, ftp, s3, swift)."""

_INLINE = re.compile(r"(?:^|,)(?:url|host|endpoint)=(?:'([^']*)'|\"([^\"]*)\"|([^,]*))")


def find_host(place: str, words: ParsedWords, environment: Mapping[str, str]) -> tuple[str | None, str, int | None]:
    """Return the host, protocol and port of a path or ``remote:path``; no host for a local path.

    A remote goes by its own name where nothing more is known about it.
    """
    remote, colon, _ = _split_place(place)
    if not colon:
        return None, "file", None
    on_the_fly = remote.startswith(":")
    name, _, options = remote.removeprefix(":").partition(",")
    stated = _INLINE.search(options)
    address = next((each for each in stated.groups() if each), None) if stated else None
    if on_the_fly:
        if name == "local":
            return None, "file", None
        settings = {
            key: words.find_last(f"{name}-{key}") or environment.get(f"RCLONE_{name}_{key}".upper()) for key in _KEYS
        }
        kind = name
    else:
        section = _read_section(name, words, environment)
        settings = {key: environment.get(f"RCLONE_CONFIG_{name}_{key}".upper()) or section.get(key) for key in _KEYS}
        kind = environment.get(f"RCLONE_CONFIG_{name}_TYPE".upper()) or section.get("type") or "unknown"
        if kind in ("local", "alias"):
            return None, "file", None
    address = address or next((value for value in settings.values() if value), None)
    if not address:
        return name, kind, None
    found = parse_address(address if "://" in address else f"//{address}")
    return found.host or name, found.scheme or kind, found.port


def _split_place(place: str) -> tuple[str, str, str]:
    """Return the remote, colon and path; a colon within quotes is of a value, one after a slash of the path."""
    quote = ""
    for position, letter in enumerate(place):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "/":
            break
        elif letter == ":" and position > 0:
            return place[:position], ":", place[position + 1 :]
    return place, "", ""


def _read_section(name: str, words: ParsedWords, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the remote's part of the configuration; empty where there is none, or it is encrypted."""
    folder = Path(environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "")) / ".config")
    path = words.find_last("config") or environment.get("RCLONE_CONFIG") or folder / "rclone" / "rclone.conf"
    configuration = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        configuration.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, OSError):
        return {}
    return configuration[name] if configuration.has_section(name) else {}
