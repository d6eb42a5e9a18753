"""Local files to send: everything below a folder, and what had to be left out."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tradewind_agent.engine.local.journal import is_own_name
from tradewind_agent.engine.remote.omissions import LinkRule, Omission, OmissionKind
from tradewind_agent.engine.remote.path_selection import Selecting
from tradewind_agent.errors import UnusableSource
from tradewind_agent.system_errors import explain_os_error

_IS_LINK = "is a symbolic link; --follow-links sends what it points to, --skip-links leaves it out"
_LEADS_BACK = "is a symbolic link to a folder above it"
_IS_UNFINISHED = "has the name of an unfinished copy, whose bytes it could replace; rename it, or --exclude it"
_IS_SPECIAL = "is a pipe, a device or a socket"

_Identities = tuple[tuple[int, int], ...]
"""Device and inode of a folder and of those above it."""


def list_tree(folder: Path, links: LinkRule, selecting: Selecting) -> Iterator[Path | Omission]:
    """Yield the files below ``folder`` in the order of their paths, and what cannot be sent, as far as selected.

    Raises
    ------
    UnusableSource : the folder itself cannot be read.
    """
    try:
        waiting = _list_children(folder, (_get_identity(folder.stat()),))
    except OSError as failure:
        raise UnusableSource(f"{folder} cannot be read: {explain_os_error(failure)}") from failure
    begin = len(str(folder / "x")) - 1
    while waiting:  # the next path is the last
        path, above = waiting.pop()
        below = str(path)[begin:]
        try:
            is_link = path.is_symlink() and links is not LinkRule.FOLLOW
            found = path.stat()
        except OSError as failure:  # a link that leads nowhere, or what cannot be reached
            if selecting.take_file(below):
                yield Omission(str(path), _IS_LINK, OmissionKind.LINK) if is_link else _make_unreadable(path, failure)
            continue
        if not (selecting.take_folder(below) if stat.S_ISDIR(found.st_mode) else selecting.take_file(below)):
            continue
        if is_link:
            yield Omission(str(path), _IS_LINK, OmissionKind.LINK)
        elif not stat.S_ISDIR(found.st_mode):
            yield _classify_file(path, found)
        elif (identity := _get_identity(found)) in above:
            yield Omission(str(path), _LEADS_BACK, OmissionKind.LINK)
        else:
            try:
                waiting.extend(_list_children(path, (*above, identity)))
            except OSError as failure:
                yield _make_unreadable(path, failure)


def _make_unreadable(path: Path, failure: OSError) -> Omission:
    return Omission(str(path), f"cannot be read: {explain_os_error(failure)}", OmissionKind.UNREADABLE)


def _get_identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _list_children(folder: Path, above: _Identities) -> list[tuple[Path, _Identities]]:
    """Return what is in a folder, last name first."""
    with os.scandir(folder) as scan:
        return [(folder / name, above) for name in sorted((entry.name for entry in scan), reverse=True)]


def _classify_file(path: Path, found: os.stat_result) -> Path | Omission:
    if is_own_name(path.name):
        return Omission(str(path), _IS_UNFINISHED, OmissionKind.NOT_A_FILE)
    if not stat.S_ISREG(found.st_mode):
        return Omission(str(path), _IS_SPECIAL, OmissionKind.NOT_A_FILE)
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        return Omission(str(path), "cannot be read: permission denied", OmissionKind.UNREADABLE)
    return path
