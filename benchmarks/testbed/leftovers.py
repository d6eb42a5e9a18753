"""Record which testbeds and other namespaces exist, so that what a killed benchmark left is recognised and removed."""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from benchmarks.testbed.namespaces import remove_namespace

FOLDER = Path("/run/tradewind-testbed")
PREFIX = "tw"
_STATE = "state.json"


def make_unique_name() -> str:
    """Return a name that no other testbed of this machine has; it starts with the id of this process."""
    return f"{PREFIX}{os.getpid()}-{secrets.token_hex(2)}"


@dataclass(frozen=True, slots=True)
class State:
    """A testbed as other processes see it.

    ``owner``, ``owner_started`` : process id and start time in clock ticks, a pair that is never used again.
    ``purpose`` : why it was set up.
    """

    name: str
    owner: int
    owner_started: int
    namespaces: Sequence[str]
    purpose: str

    @property
    def folder(self) -> Path:
        """Socket, configuration and logs of the testbed."""
        return FOLDER / self.name

    @property
    def is_alive(self) -> bool:
        return read_start_ticks(self.owner) == self.owner_started

    @classmethod
    def of_this_process(cls, name: str, namespaces: Sequence[str], purpose: str) -> Self:
        owner = os.getpid()
        return cls(name, owner, read_start_ticks(owner) or 0, namespaces, purpose)

    def write(self) -> None:
        """Record the state; a reader sees the old state or the new one, never half of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / f".{_STATE}"
        partial.write_text(json.dumps(asdict(self)), encoding="utf-8")
        partial.replace(self.folder / _STATE)

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        try:
            return cls(**json.loads((folder / _STATE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def remove(self) -> None:
        """Stop all processes in its namespaces, remove the namespaces, then the folder."""
        for namespace in self.namespaces:
            remove_namespace(namespace)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def record_namespaces(names: Sequence[str], purpose: str) -> Iterator[None]:
    """Remove what killed owners left; record the namespaces that the block makes, and remove them after it."""
    remove_leftovers()
    state = State.of_this_process(make_unique_name(), names, purpose)
    state.write()
    try:
        yield
    finally:
        state.remove()


def list_states() -> list[State]:
    """Return all recorded testbeds of this machine, live or left over."""
    with suppress(FileNotFoundError):
        return [state for folder in sorted(FOLDER.iterdir()) if (state := State.read(folder)) is not None]
    return []


def remove_leftovers() -> list[str]:
    """Remove testbeds whose process is gone; return their names."""
    dead = [state for state in list_states() if not state.is_alive]
    for state in dead:
        state.remove()
    return [state.name for state in dead]


def read_start_ticks(process_id: int) -> int | None:
    """Return when a process started, clock ticks since boot; ``None`` when it has ended."""
    try:
        status = Path(f"/proc/{process_id}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = status.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])
