"""A folder of backups: whole copies by the time of their end, and the log of what was written since."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Self

from services.backup.errors import BackupFailed
from services.backup.manifest import verify
from services.backup.tools import copy_cluster, follow_log, forget_log_before

SEGMENT = re.compile(r"[0-9A-F]{24}")
"""A file of the log: timeline, then its place in two parts."""
HISTORY = re.compile(r"[0-9A-F]{8}\.history")
UNFINISHED = ".partial"
_START = re.compile(r"^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)$", re.MULTILINE)
NAME = "%Y-%m-%dT%H-%M-%SZ"
OWNER_ALONE = 0o700


@dataclass(frozen=True, slots=True)
class Backup:
    """One whole copy.

    Attributes
    ----------
    folder : with the cluster in ``data``, and in ``files`` what lies beside the cluster.
    ended_at : from then on any moment can be returned to with it.
    """

    folder: Path
    ended_at: datetime
    bytes: int

    @classmethod
    def read(cls, folder: Path) -> Self:
        place = folder / "backup.json"
        try:
            told = json.loads(place.read_text(encoding="utf-8"))
            return cls(folder, datetime.fromisoformat(told["ended_at"]), told["bytes"])
        except OSError as error:
            raise BackupFailed(f"cannot read {place}: {error.strerror}") from None
        except (ValueError, KeyError):
            raise BackupFailed(f"{place} is not as it was written") from None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def files(self) -> Path:
        return self.folder / "files"

    def first_segment(self) -> str:
        """The file of the log from which on this copy needs it."""
        found = _START.search((self.data / "backup_label").read_text(encoding="utf-8"))
        if found is None:
            raise BackupFailed(f"{self.name}: its backup_label does not say where the log begins")
        return found[1]


class BackupFolder:
    """The backups of one database.

    Parameters
    ----------
    place : made when the first one is; read by its owner alone, since it holds hashes of keys and logins of analysts.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._copies = place / "base"
        self.log = place / "wal"

    def follow(self, url: str) -> None:
        """Write the log down as it comes; does not return."""
        _make(self._place, self.log)
        follow_log(url, self.log)

    def make(self, url: str, *, beside: Mapping[str, Path]) -> Backup:
        """Copy the cluster, and verify the copy before it counts as one.

        Parameters
        ----------
        url : of a role that may replicate.
        beside : files to be kept with it, by the path that they are restored to.
        """
        _make(self._place, self._copies)
        with _refusals_told(self._place):
            partial = self._copies / f"{datetime.now(UTC).strftime(NAME)}{UNFINISHED}"
            try:
                partial.mkdir(mode=OWNER_ALONE)
                copy_cluster(url, partial / "data")
                ended_at = datetime.now(UTC)
                verify(partial / "data")
                for path, source in beside.items():
                    (partial / "files" / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, partial / "files" / path)
                size = sum(file.stat().st_size for file in partial.rglob("*") if file.is_file())
                told = {"ended_at": ended_at.isoformat(), "bytes": size}
                (partial / "backup.json").write_text(json.dumps(told), encoding="utf-8")
                return Backup.read(partial.rename(self._copies / ended_at.strftime(NAME)))
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise

    def backups(self) -> Sequence[Backup]:
        """Oldest first; what was broken off is none.

        One that ended later than now was made while the clock was ahead: it is older than it says, and comes first.
        """
        now = datetime.now(UTC)
        described = [file for file in self._copies.glob("*/backup.json") if file.parent.suffix != UNFINISHED]
        found = [Backup.read(file.parent) for file in described]
        return sorted(found, key=lambda each: (each.ended_at <= now, each.ended_at))

    def find(self, name: str | None, *, until: datetime | None = None) -> Backup:
        """The copy of that name; without one, the newest that ended before ``until``.

        Raises
        ------
        BackupFailed : there is none.
        """
        found = [each for each in self.backups() if name in (None, each.name)]
        if not found:
            raise BackupFailed(f"no backup {name} in {self._place}" if name else f"no backup in {self._place}")
        early = [each for each in found if until is None or each.ended_at <= until]
        if not early:
            oldest = min(each.ended_at for each in found)
            raise BackupFailed(f"the oldest moment that can be returned to is {oldest.isoformat()}")
        return early[-1]

    def verify(self, backup: Backup) -> int:
        """Read a copy and see that no file is missing in the log since; how many files of the log there are.

        Raises
        ------
        BackupFailed : with what is wrong or missing.
        """
        verify(backup.data)
        names = sorted({name[8:] for name in self.log_since(backup) if SEGMENT.fullmatch(name)})
        for before, after in pairwise(names):
            if _number(after) != _number(before) + 1:
                raise BackupFailed(f"{self.log}: the log has a gap after {before}: a newer backup is needed")
        return len(names)

    def log_since(self, backup: Backup) -> Mapping[str, Path]:
        """The log that the copy needs: the name that PostgreSQL asks for → file; the newest is being written to."""
        first = backup.first_segment()[8:]
        files = sorted(self.log.glob("*")) if self.log.is_dir() else []
        found = {file.name: file for file in files if HISTORY.fullmatch(file.name)}
        for file in files:
            name = file.name.removesuffix(UNFINISHED)
            if SEGMENT.fullmatch(name) and name[8:] >= first and (file.name == name or name not in found):
                found[name] = file
        return found

    def followed_at(self) -> datetime | None:
        """When the log was last written to; None where there is none. A server that is idle writes none."""
        files = (file for file in self.log.glob("*") if SEGMENT.fullmatch(file.name.removesuffix(UNFINISHED)))
        written = max((file.stat().st_mtime for file in files), default=None)
        return None if written is None else datetime.fromtimestamp(written, UTC)

    def keep(self, count: int) -> Sequence[Backup]:
        """Remove all but the newest copies, and the log that none of these needs; what was removed."""
        found = self.backups()
        kept, removed = found[-count:], found[:-count]
        with _refusals_told(self._place):
            for each in removed:
                gone = each.folder.rename(each.folder.with_suffix(UNFINISHED))
                shutil.rmtree(gone)
        if kept and self.log.is_dir():
            forget_log_before(min((each.first_segment() for each in kept), key=_place_in_log), self.log)
        return removed


@contextmanager
def _refusals_told(place: Path) -> Iterator[None]:
    """Whatever the system refuses, as it does when the disk is full, is a copy that failed."""
    try:
        yield
    except OSError as error:
        raise BackupFailed(f"{error.filename or place}: {error.strerror}") from None


def _make(*folders: Path) -> None:
    for folder in folders:
        try:
            folder.mkdir(mode=OWNER_ALONE, parents=True, exist_ok=True)
        except OSError as error:
            raise BackupFailed(f"cannot make {folder}: {error.strerror}") from None
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise BackupFailed(f"cannot write to {folder}")


def _place_in_log(segment: str) -> str:
    """Without its timeline, which changes at each restore."""
    return segment[8:]


def _number(place: str) -> int:
    """Of a file in the log: 256 files of 16 MiB to each of the first eight digits."""
    return int(place[:8], 16) * 256 + int(place[8:], 16)
