"""A folder of backups: complete copies by the time of their end, and the log written since."""

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
from services.backup.files import hold_lock, list_files, report_os_errors
from services.backup.manifest import verify
from services.backup.tools import copy_cluster, follow_log, forget_log_before

SEGMENT = re.compile(r"[0-9A-F]{24}")
"""A file of the log: timeline, then its place in two parts."""
HISTORY = re.compile(r"[0-9A-F]{8}\.history")
UNFINISHED = ".partial"
DESCRIPTION = "backup.json"
"""Written last; whoever makes, reads or removes a copy holds its lock."""
_START = re.compile(r"^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)$", re.MULTILINE)
NAME = "%Y-%m-%dT%H-%M-%SZ"
OWNER_ALONE = 0o700


@dataclass(frozen=True, slots=True)
class Backup:
    """One complete copy.

    Attributes
    ----------
    folder : with the cluster in ``data``, and in ``files`` what is stored with it.
    ended_at : any later moment can be restored with it.
    first_segment : the first file of the log that it needs.
    """

    folder: Path
    ended_at: datetime
    bytes: int
    first_segment: str

    @classmethod
    def read(cls, folder: Path) -> Self:
        place = folder / DESCRIPTION
        try:
            description = json.loads(place.read_text(encoding="utf-8"))
            ended_at, size = datetime.fromisoformat(description["ended_at"]).astimezone(UTC), int(description["bytes"])
        except OSError as error:
            raise BackupFailed(f"cannot read {place}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise BackupFailed(f"{place} is not as it was written") from None
        return cls(folder, ended_at, size, _find_first_segment(folder / "data" / "backup_label"))

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def files(self) -> Path:
        return self.folder / "files"

    @contextmanager
    def read_from(self) -> Iterator[None]:
        """Keep others from removing the copy meanwhile."""
        with report_os_errors(self.folder), hold_lock(self.folder / DESCRIPTION, alone=False):
            yield

    def remove(self) -> bool:
        """Remove the copy, unless somebody reads from it; return whether it is removed."""
        with report_os_errors(self.folder), hold_lock(self.folder / DESCRIPTION, alone=True) as held:
            if held is False:
                return False
            gone = self.folder.rename(self.folder.with_suffix(UNFINISHED))  # an incomplete copy no longer counts as one
            shutil.rmtree(gone)
        return True


class BackupFolder:
    """The backups of one database.

    Parameters
    ----------
    place : created with the first one; only its owner may read it, since it holds hashes of keys and logins of
        analysts.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._copies = place / "base"
        self.log = place / "wal"

    def follow(self, url: str) -> None:
        """Write the log down as it comes; does not return."""
        _make(self._place, self.log)
        follow_log(url, self.log)

    def make(self, url: str, *, attachments: Mapping[str, Path]) -> Backup:
        """Copy the cluster, and verify the copy before it counts; remove what interrupted copies left.

        Parameters
        ----------
        url : of a role that may replicate.
        attachments : files to store with it, by the path that they are restored to.
        """
        _make(self._place, self._copies)
        with report_os_errors(self._place):
            self._remove_broken_off()
            partial = self._copies / f"{datetime.now(UTC).strftime(NAME)}{UNFINISHED}"
            partial.mkdir(mode=OWNER_ALONE)
            (partial / DESCRIPTION).touch()
        with report_os_errors(self._place), hold_lock(partial / DESCRIPTION, alone=True):
            try:
                copy_cluster(url, partial / "data")
                ended_at = datetime.now(UTC)
                verify(partial / "data")
                for path, source in attachments.items():
                    (partial / "files" / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, partial / "files" / path)
                size = sum(file.stat().st_size for file in partial.rglob("*") if file.is_file())
                description = {"ended_at": ended_at.isoformat(), "bytes": size}
                (partial / DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
                return Backup.read(partial.rename(self._copies / ended_at.strftime(NAME)))
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise

    def _remove_broken_off(self) -> None:
        """Remove what an interrupted copy has left; a copy in progress holds its lock."""
        for folder in list_files(self._copies):
            if folder.suffix == UNFINISHED:
                (folder / DESCRIPTION).touch()
                with hold_lock(folder / DESCRIPTION, alone=True) as held:
                    if held:
                        shutil.rmtree(folder)

    def list_backups(self) -> Sequence[Backup]:
        """Return complete copies, the oldest first.

        One that ended later than now was made while the clock was ahead: it is older than it says, and comes first.
        """
        now = datetime.now(UTC)
        found = [each for each in self._read_descriptions() if isinstance(each, Backup)]
        return sorted(found, key=lambda each: (each.ended_at <= now, each.ended_at))

    def list_damaged(self) -> Sequence[BackupFailed]:
        """Return what is wrong with the description of each damaged copy."""
        return [each for each in self._read_descriptions() if isinstance(each, BackupFailed)]

    def _read_descriptions(self) -> Iterator[Backup | BackupFailed]:
        for folder in list_files(self._copies):
            if folder.suffix != UNFINISHED and (folder / DESCRIPTION).exists():
                try:
                    yield Backup.read(folder)
                except BackupFailed as damage:
                    yield damage

    def find(self, name: str | None, *, until: datetime | None = None) -> Backup:
        """Return the copy of that name; without one, the newest that ended before ``until``.

        Raises
        ------
        BackupFailed : there is none, or it is damaged.
        """
        if name is not None and (self._copies / name).is_dir():
            Backup.read(self._copies / name)
        found = [each for each in self.list_backups() if name in (None, each.name)]
        if not found:
            raise BackupFailed(f"no backup {name} in {self._place}" if name else f"no backup in {self._place}")
        early = [each for each in found if until is None or each.ended_at <= until]
        if not early:
            oldest = min(each.ended_at for each in found)
            raise BackupFailed(f"the oldest moment that can be returned to is {oldest.isoformat()}")
        return early[-1]

    def verify(self, backup: Backup) -> int:
        """Verify a copy and that the log since has no gap; return how many files of the log there are.

        Raises
        ------
        BackupFailed : with what is wrong or missing.
        """
        with report_os_errors(backup.folder):
            verify(backup.data)
        names = sorted({name[8:] for name in self.log_since(backup) if SEGMENT.fullmatch(name)})
        for before, after in pairwise(names):
            if _number(after) != _number(before) + 1:
                raise BackupFailed(f"{self.log}: the log has a gap after {before}: a newer backup is needed")
        return len(names)

    def log_since(self, backup: Backup) -> Mapping[str, Path]:
        """Return the log that the copy needs: the name that PostgreSQL requests → file; the newest is still
        written to.
        """
        first = backup.first_segment[8:]
        files = list_files(self.log)
        found = {file.name: file for file in files if HISTORY.fullmatch(file.name)}
        for file in files:
            name = file.name.removesuffix(UNFINISHED)
            if SEGMENT.fullmatch(name) and name[8:] >= first and (file.name == name or name not in found):
                found[name] = file
        return found

    def find_followed_at(self) -> datetime | None:
        """Return when the log was last written to; ``None`` where there is none. An idle server writes none."""
        files = (file for file in list_files(self.log) if SEGMENT.fullmatch(file.name.removesuffix(UNFINISHED)))
        with report_os_errors(self.log):
            written = max((file.stat().st_mtime for file in files if file.exists()), default=None)
        return None if written is None else datetime.fromtimestamp(written, UTC)

    def keep(self, count: int) -> Sequence[Backup]:
        """Remove all but the newest copies, and the log that none of these needs; return what was removed.

        A copy that is being read stays until the next time. While there is a damaged one, no log is removed: it may be
        repaired, and may need it.
        """
        found = self.list_backups()
        removed = [each for each in found[:-count] if each.remove()]
        retained = [each for each in found if each not in removed]
        if retained and self.log.is_dir() and not self.list_damaged():
            forget_log_before(min((each.first_segment for each in retained), key=_place_in_log), self.log)
        return removed


def _make(*folders: Path) -> None:
    for folder in folders:
        try:
            folder.mkdir(mode=OWNER_ALONE, parents=True, exist_ok=True)
        except OSError as error:
            raise BackupFailed(f"cannot make {folder}: {error.strerror}") from None
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise BackupFailed(f"cannot write to {folder}")


def _find_first_segment(label: Path) -> str:
    with report_os_errors(label):
        found = _START.search(label.read_text(encoding="utf-8", errors="replace"))
    if found is None:
        raise BackupFailed(f"{label} does not say where the log begins")
    return found[1]


def _place_in_log(segment: str) -> str:
    """Return a segment's place without its timeline, which changes at each restore."""
    return segment[8:]


def _number(place: str) -> int:
    """Return the number of a file in the log: 256 files of 16 MiB to each of the first eight digits."""
    return int(place[:8], 16) * 256 + int(place[8:], 16)
