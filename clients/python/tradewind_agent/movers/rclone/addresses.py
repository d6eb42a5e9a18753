"""Addresses that rclone copies for tradewind, as remotes of rclone.

rclone gets a remote that the user has configured for the place. An ``sftp://`` address needs none if ssh of this host
knows the server and has a key: the server is then compared with ``known_hosts``, and no secret is in the command line.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from tradewind.errors import InvalidValue
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.engine.remote.omissions import LinkRule, ListingRules
from tradewind_agent.errors import ToolUnusable
from tradewind_agent.movers.command_line import CommandLine
from tradewind_agent.movers.registry import InstalledTool, find_installed, find_mover
from tradewind_agent.movers.schemes import ELSEWHERE, RCLONE_BACKENDS, find_other_scheme
from tradewind_agent.movers.tool_query import query_tool

_PORTS: Mapping[str, str] = {"sftp": "22", "ftp": "21", "smb": "445"}
"""Ports of the schemes whose first part is a server, which must be that of the remote; of others it is a bucket."""

_LINKS: Mapping[LinkRule, tuple[str, ...]] = {
    LinkRule.REPORT: (),
    LinkRule.FOLLOW: ("--copy-links",),
    LinkRule.SKIP: ("--skip-links",),
}
_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")


class _Place(NamedTuple):
    """``server`` : a host, bucket or container; ``path`` : as written, without the slash before it."""

    scheme: str
    login: str | None
    server: str
    port: str | None
    path: str


def make_rclone_line(
    places: Sequence[str], options: CopyOptions, environment: Mapping[str, str], *, manifest: str | None
) -> tuple[InstalledTool, CommandLine]:
    """Return rclone, and its command line for a copy of the first of ``places`` to the second.

    Raises
    ------
    InvalidValue : rclone cannot copy this, or has no remote for it; the message says how to copy it instead.
    ToolUnusable : rclone is missing or too old.
    """
    scheme = find_other_scheme(places)
    assert scheme is not None, places
    if scheme in ELSEWHERE:
        raise InvalidValue(f"{scheme}://", f"is not a scheme of tradewind; {ELSEWHERE[scheme]}")
    if len(places) != 2 or manifest is not None:
        raise InvalidValue(f"{scheme}://", "is copied by rclone, from one source at a time and without --manifest")
    for place in places:
        if "://" in place and _parse_place(place).scheme not in (*RCLONE_BACKENDS, "file"):
            raise InvalidValue(place, f"is not copied to or from {scheme}://; one end must be local")
    if any(":" in (_parse_place(place).login or "") for place in places):
        raise InvalidValue(f"{scheme}://", "takes no password in an address; give it to a remote by `rclone config`")
    _reject_unsupported(scheme, options)
    mover = find_mover("rclone")
    try:
        installed = find_installed(mover, mover.programs[0], environment)
    except ToolUnusable as missing:
        raise ToolUnusable(f"{scheme}:// is copied by rclone: {missing}") from None
    remotes = _list_remotes(installed.program)
    source, destination = (_express_place(place, remotes, environment, places) for place in places)
    words = ("--checksum",) if options.engine.checksum else ()
    links = _LINKS[options.listing.links]
    verb = "copy" if _fills_folder(*places) else "copyto"
    return installed, CommandLine(installed.program, (verb, *words, *links, "--", source, destination), environment)


def _reject_unsupported(scheme: str, options: CopyOptions) -> None:
    """Refuse options that hold for tradewind's own engine only.

    Raises
    ------
    InvalidValue
    """
    engine = options.engine
    given = {
        "--ca-file, --cert, --insecure": engine.tls is not None,
        "--header, --bearer-token": bool(engine.credentials.unbound),
        "--congestion-control": engine.congestion_control is not None,
        "--endpoint-url, --region, --profile, --anonymous, --requester-pays": not engine.stores.is_usual,
        "--no-resume": not options.resume,
        "--skip-unreadable": options.listing != ListingRules(links=options.listing.links),
    }
    if refused := [names for names, is_given in given.items() if is_given]:
        raise InvalidValue(", ".join(refused), f"is not for {scheme}://, which rclone copies")


def _fills_folder(source: str, destination: str) -> bool:
    """Return whether the destination is a folder to fill, and not the name of one file."""
    is_local = "://" not in destination
    return (
        source.endswith("/")
        or ("://" not in source and Path(source).is_dir())
        or destination.endswith("/")
        or (is_local and Path(destination).is_dir())
        or (not is_local and not _parse_place(destination).path)
    )


def _express_place(
    text: str, remotes: Mapping[str, Mapping[str, str]], environment: Mapping[str, str], places: Sequence[str]
) -> str:
    """Return a place as rclone knows it; a local path is absolute, so that no colon in it means a remote."""
    if "://" not in text:
        return str(Path(text).absolute())
    place = _parse_place(text)
    if place.scheme == "file":
        return unquote(text.partition("://")[2])
    matching = [name for name, remote in remotes.items() if _is_remote_of(place, remote)]
    if len(matching) == 1:
        return f"{matching[0]}:{_express_path(place)}"
    on_the_fly = None if matching else _build_sftp_remote(place, environment)
    if on_the_fly is not None:
        return f"{on_the_fly}:{_express_path(place)}"
    raise InvalidValue(text, _explain_missing(place, matching, places))


def _parse_place(text: str) -> _Place:
    scheme, _, rest = text.strip().partition("://")
    authority, _, path = rest.partition("/")
    login, at, host = authority.rpartition("@")
    server, colon, port = host.partition(":") if scheme.lower() in _PORTS else (host, "", "")
    return _Place(scheme.lower(), login if at else None, server, port if colon else None, path)


def _express_path(place: _Place) -> str:
    """Return the path of a remote: of sftp from the root unless it begins with ``~/``, of ftp from the login's folder.

    Paths of servers are escaped, keys in buckets are not.
    """
    if place.scheme not in _PORTS:
        return f"{place.server}/{place.path}" if place.path else place.server
    path = unquote(place.path)
    if place.scheme != "sftp":
        return path
    return path.removeprefix("~/") if path.startswith("~/") else f"/{path}"


def _list_remotes(program: str) -> Mapping[str, Mapping[str, str]]:
    """Return the user's remotes by name; none where the configuration is encrypted or cannot be read."""
    try:
        remotes = json.loads(query_tool((program, "config", "dump", "--ask-password=false")))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(remotes, dict):
        return {}
    return {name: remote for name, remote in remotes.items() if isinstance(remote, dict)}


def _is_remote_of(place: _Place, remote: Mapping[str, str]) -> bool:
    if remote.get("type") != RCLONE_BACKENDS[place.scheme]:
        return False
    if place.scheme not in _PORTS:
        return True
    stated = ((place.server, remote.get("host")), (place.login, remote.get("user")))
    port = remote.get("port", _PORTS[place.scheme])
    return all(given is None or given == has for given, has in (*stated, (place.port, port)))


def _build_sftp_remote(place: _Place, environment: Mapping[str, str]) -> str | None:
    """Return a remote for an sftp server that needs no configuration; ``None`` where that would not be safe."""
    folder = Path(environment.get("HOME", "")) / ".ssh"
    known_hosts = folder / "known_hosts"
    parts = (place.server, *(part for part in (place.login, place.port) if part is not None))
    if place.scheme != "sftp" or not known_hosts.is_file() or not all(_PLAIN.fullmatch(part) for part in parts):
        return None
    options = [f"host={place.server}", f"known_hosts_file={_quote(known_hosts)}"]
    options += [] if place.login is None else [f"user={place.login}"]
    options += [] if place.port is None else [f"port={place.port}"]
    if not environment.get("SSH_AUTH_SOCK"):
        key = next((folder / name for name in _KEYS if (folder / name).is_file()), None)
        if key is None:
            return None
        options.append(f"key_file={_quote(key)}")
    return f":sftp,{','.join(options)}"


def _quote(path: Path) -> str:
    """Return a value of a connection string; quotes in it are doubled (rclone docs, connection strings)."""
    return '"' + str(path).replace('"', '""') + '"'


def _explain_missing(place: _Place, matching: Sequence[str], places: Sequence[str]) -> str:
    """Return why rclone cannot be given a place, with the command line that copies it."""
    backend = RCLONE_BACKENDS[place.scheme]
    remote = matching[0] if matching else "REMOTE"
    shown = f"{remote}:{_express_path(place)}"
    line = " ".join(shown if "://" in each and _parse_place(each) == place else each for each in places)
    if matching:
        what = f"{len(matching)} of your rclone remotes may be meant ({', '.join(matching)}); name the one"
    else:
        of_server = f" for {place.server}" if place.scheme in _PORTS else ""
        what = f"rclone copies it, and has no remote of type {backend!r}{of_server}; add one with `rclone config`"
    by_globus = ", or add --mover globus-url-copy" if place.scheme == "ftp" else ""
    return f"{what}: tradewind wrap -- rclone copy {line}{by_globus}"
