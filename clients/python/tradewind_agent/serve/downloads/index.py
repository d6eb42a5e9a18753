"""Index of a folder: HTML as nginx's autoindex writes it, or JSON for those who accept it."""

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote_from_bytes

from tradewind_agent.serve.folder import ServedFolder, is_file, is_folder
from tradewind_agent.serve.validators import make_etag

_NAME_COLUMN = 50  # width of nginx's name column


@dataclass(frozen=True, slots=True)
class FolderEntry:
    name: str
    is_folder: bool
    size_bytes: int
    modified_at: datetime
    etag: str | None
    unserved: str = ""
    """``other`` for a pipe, socket or device, ``link`` for one that leads out; empty for what can be had."""


def list_folder(folder: ServedFolder, descriptor: int, segments: Sequence[str]) -> list[FolderEntry]:
    """Return folders first, then files, by name; without what cannot be addressed, and with a mark on what is no file.

    Parameters
    ----------
    descriptor : of the folder; its path ``segments`` only serve to follow links.
    """
    entries = []
    with os.scandir(descriptor) as scan:
        for item in scan:
            if not folder.is_served(item.name):
                continue
            leads_out = item.is_symlink() and not folder.contains(Path(folder.root, *segments, item.name))
            try:
                status = item.stat(follow_symlinks=not leads_out)
            except OSError:
                if not item.is_symlink():
                    continue  # gone since the scan
                leads_out, status = True, item.stat(follow_symlinks=False)
            entries.append(_make_entry(item.name, status, leads_out=leads_out))
    return sorted(entries, key=lambda entry: (not entry.is_folder, entry.name))


def _make_entry(name: str, status: os.stat_result, *, leads_out: bool) -> FolderEntry:
    modified_at = datetime.fromtimestamp(status.st_mtime, UTC)
    if leads_out or not (is_folder(status) or is_file(status)):
        unserved = "link" if leads_out else "other"
        return FolderEntry(name, is_folder=False, size_bytes=0, modified_at=modified_at, etag=None, unserved=unserved)
    if is_folder(status):
        return FolderEntry(name, is_folder=True, size_bytes=0, modified_at=modified_at, etag=None)
    return FolderEntry(
        name, is_folder=False, size_bytes=status.st_size, modified_at=modified_at, etag=make_etag(status)
    )


def make_json_index(entries: Sequence[FolderEntry]) -> dict[str, list[dict[str, object]]]:
    return {"entries": [_make_json_entry(entry) for entry in entries]}


def _make_json_entry(entry: FolderEntry) -> dict[str, object]:
    kind = entry.unserved or ("directory" if entry.is_folder else "file")
    described: dict[str, object] = {"name": entry.name, "type": kind}
    if kind == "file":
        described |= {"size_bytes": entry.size_bytes, "etag": entry.etag}
    return described | {"modified_at": entry.modified_at.isoformat().replace("+00:00", "Z")}


def make_html_index(path: str, entries: Sequence[FolderEntry]) -> bytes:
    """Return a page with one ``<a href="name">name</a> date size`` line an entry, as nginx writes it."""
    title = html.escape(f"Index of {path}")
    lines = [f"<html>\n<head><title>{title}</title></head>\n<body>\n<h1>{title}</h1><hr><pre>"]
    if path != "/":
        lines.append('<a href="../">../</a>')
    lines += [_make_html_line(entry) for entry in entries if not entry.unserved]
    lines.append("</pre><hr></body>\n</html>\n")
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _make_html_line(entry: FolderEntry) -> str:
    slash = "/" if entry.is_folder else ""
    href = quote_from_bytes(os.fsencode(entry.name), safe="") + slash
    text = entry.name + slash
    padding = " " * max(1, _NAME_COLUMN + 1 - len(text))
    size = "-" if entry.is_folder else str(entry.size_bytes)
    return f'<a href="{href}">{html.escape(text)}</a>{padding}{entry.modified_at:%d-%b-%Y %H:%M}{size:>20}'
