"""Manifests: a list of files to fetch, one URL or relative path a line, or NDJSON with sizes and sums."""

import json
import re
from typing import NamedTuple

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.local.checksums import ALGORITHMS, Checksum, can_compute
from tradewind_agent.engine.remote.index_page import check_segment
from tradewind_agent.errors import UnsafeName, UnusableSource

_BLANKS = " \t\r"
_FIELDS = ("path", "size_bytes", "sha256", "checksum")


class ManifestEntry(NamedTuple):
    """One file: where it is, and its safe relative path at the destination."""

    source: Url
    path: str
    size_bytes: int | None = None
    checksum: Checksum | None = None


def parse_manifest(text: str, base: Url | None) -> list[ManifestEntry]:
    """Return the entries of a manifest; blank lines and lines that begin with ``#`` are left out.

    Relative paths are file names, not URLs: they are escaped and looked up below ``base``.

    Raises
    ------
    UnusableSource : a line that is not understood, the same path twice, or a relative path without a base.
    UnsafeName : a path that would leave the destination folder.
    """
    entries: dict[str, ManifestEntry] = {}
    # Only a line feed ends a line: names may hold other characters that `str.splitlines` and `str.strip` know.
    for number, each in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = each.strip(_BLANKS)
        if not line or line.startswith("#"):
            continue
        entry = _parse_entry(line, base, f"line {number} of the manifest")
        if entries.setdefault(entry.path, entry) is not entry:
            raise UnusableSource(f"line {number} of the manifest names {entry.path!r} a second time")
    if not entries:
        raise UnusableSource("the manifest names no file")
    return list(entries.values())


def _parse_entry(line: str, base: Url | None, where: str) -> ManifestEntry:
    if not line.startswith("{"):
        return ManifestEntry(*_parse_place(line, base, where))
    try:
        row = json.loads(line)
        path, size = row["path"], row.get("size_bytes")
    except (ValueError, LookupError) as error:
        raise UnusableSource(f'{where} is no JSON object with a "path"') from error
    if not isinstance(path, str) or not (size is None or (type(size) is int and size >= 0)):
        raise UnusableSource(f"{where}: path must be text and size_bytes a whole number")
    if unknown := sorted(row.keys() - _FIELDS):
        raise UnusableSource(f"{where} has the unknown field {unknown[0]!r}; known are {', '.join(_FIELDS)}")
    return ManifestEntry(*_parse_place(path, base, where), size, _parse_checksum(row, where))


def _parse_checksum(row: dict[str, object], where: str) -> Checksum | None:
    """Return the sum of a row: ``sha256``, or ``checksum`` as transfer services write it, ``adler32:0a1b2c3d``."""
    stated = row.get("checksum") if row.get("sha256") is None else f"sha256:{row['sha256']}"
    if stated is None:
        return None
    algorithm, _, digits = str(stated).partition(":")
    algorithm = algorithm.strip().lower().replace("-", "")
    if algorithm not in ALGORITHMS:
        raise UnusableSource(f"{where}: checksum must be like md5:…, of {', '.join(ALGORITHMS)}")
    digest_bytes = ALGORITHMS[algorithm].digest_bytes
    if re.fullmatch(rf"[0-9a-fA-F]{{{2 * digest_bytes}}}", digits) is None:
        raise UnusableSource(f"{where}: {algorithm} must be {2 * digest_bytes} hexadecimal digits")
    if not can_compute(algorithm):
        raise UnusableSource(f"{where}: {algorithm} needs a library; run `pip install awscrt`")
    return Checksum(algorithm, bytes.fromhex(digits))


def _parse_place(text: str, base: Url | None, where: str) -> tuple[Url, str]:
    """Return the URL and destination path of one line."""
    if text.startswith(("http://", "https://")):
        url = Url.parse(text)
        return url, check_segment(url.name, where)
    if "://" in text:
        raise UnusableSource(f"{where}: {text!r} is no http or https URL")
    if base is None:
        raise UnusableSource(f"{where} is a relative path; give the URL of the folder it is in")
    if text.startswith("/"):
        raise UnsafeName(f"{where} lists {text!r}, an absolute path: nothing was copied")
    if "\\" in text:
        raise UnsafeName(f"{where} lists {text!r}: write / between folders; a name with a backslash needs its full URL")
    path = "/".join(check_segment(segment, where) for segment in text.removeprefix("./").split("/"))
    return base.join_path(path), path
