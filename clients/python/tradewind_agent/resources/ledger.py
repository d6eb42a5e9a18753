"""A record of changes to this host, written before each change, so that those of a killed agent can be undone."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tradewind_agent.folders import make_private, replace_durably
from tradewind_agent.resources.processes import ProcessIdentity, identify

_LOCK = "lock"
_ENTRY = "{owner.pid}-{owner.started_ticks}-{number}.json"


@dataclass(frozen=True, slots=True)
class GroupClaim:
    """A control group that was made, and the one that its processes came from."""

    group: str
    origin: str


@dataclass(frozen=True, slots=True)
class FrequencyClaim:
    """A frequency cap that was set; ``before_khz`` is what the file said before anybody here changed it."""

    file: str
    before_khz: int
    limit_khz: int


@dataclass(frozen=True, slots=True)
class AffinityClaim:
    """CPUs that a process was bound to, and those it had."""

    before: tuple[int, ...]
    given: tuple[int, ...]


@dataclass(slots=True)
class Entry:
    """The changes made for one process by one agent."""

    owner: ProcessIdentity
    target: ProcessIdentity
    path: Path
    groups: list[GroupClaim] = field(default_factory=list)
    frequencies: list[FrequencyClaim] = field(default_factory=list)
    affinity: AffinityClaim | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.groups or self.frequencies or self.affinity)


class Ledger:
    """Entries of all agents of this user, a file each.

    Everything but `hold_lock` is to be called under the lock.
    """

    def __init__(self, folder: Path, proc: Path) -> None:
        self.folder = folder
        self._proc = proc

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Lock other agents out while their claims are read and a new one is made.

        Raises
        ------
        OSError : the folder cannot be written.
        """
        make_private(self.folder)
        descriptor = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def begin(self, owner: ProcessIdentity, target: ProcessIdentity) -> Entry:
        """Return a new entry; it is on disk from its first `save` on."""
        number = 0
        while (path := self.folder / _ENTRY.format(owner=owner, number=number)).exists():
            number += 1
        return Entry(owner, target, path)

    def save(self, entry: Entry) -> None:
        """Write the entry; an empty one is removed."""
        if entry.is_empty:
            entry.path.unlink(missing_ok=True)
            return
        content = asdict(entry)
        del content["path"]
        replace_durably(entry.path, json.dumps(content).encode() + b"\n")

    def list_others(self, entry: Entry) -> Iterator[Entry]:
        """Return the entries of everyone else."""
        return (other for other in self.list_entries() if other.path != entry.path)

    def list_abandoned(self) -> Iterator[Entry]:
        """Return the entries whose agent is gone."""
        return (entry for entry in self.list_entries() if identify(entry.owner.pid, self._proc) != entry.owner)

    def list_entries(self) -> Iterator[Entry]:
        """Yield all entries; an unreadable file is removed, since nothing can be undone by it."""
        for path in sorted(self.folder.glob("*.json")):
            try:
                entry = _build_entry(path, json.loads(path.read_bytes()))
            except (ValueError, KeyError, TypeError):
                path.unlink(missing_ok=True)
            else:
                yield entry


def _build_entry(path: Path, content: dict[str, Any]) -> Entry:
    affinity = content["affinity"]
    return Entry(
        owner=ProcessIdentity(**content["owner"]),
        target=ProcessIdentity(**content["target"]),
        path=path,
        groups=[GroupClaim(**claim) for claim in content["groups"]],
        frequencies=[FrequencyClaim(**claim) for claim in content["frequencies"]],
        affinity=affinity and AffinityClaim(tuple(affinity["before"]), tuple(affinity["given"])),
    )
