"""A small experiment on processor cores: a tenth of a link's bytes moves on fewer cores, and models learn from it.

Cores become an axis of the surfaces only where logs vary them. Each copy of the experiment runs on one number of cores
from its first byte to its last, so that its record states one setting. The others run on the usual number, and their
records state that, as the control group.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.sla.kinds import Sla, SlaKind
from tradewind_agent.folders import build_state_folder, make_private, replace_durably

EXPLORED_SHARE = 0.1
"""Share of a link's bytes that may move on other cores than the usual ones."""

MOST_LINKS = 256
"""Links that are remembered; the one that was used least recently is forgotten first."""

WITHOUT_TARGET = frozenset({SlaKind.MAX_THROUGHPUT, SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY})
"""Only SLAs of these kinds are explored under: fewer cores may miss a target, which nobody can know before."""

_FILE, _LOCK = "core-trials.json", "core-trials.lock"


@dataclass(frozen=True, slots=True)
class CoreTrial:
    """The cores of one copy; ``planned_bytes`` of an experiment are reserved, 0 for the control group."""

    link: str
    cores: int
    planned_bytes: int = 0

    @property
    def is_experiment(self) -> bool:
        return self.planned_bytes > 0


def list_levels(cpus: int) -> tuple[int, ...]:
    """Return the numbers of cores to try on a host: powers of two below all of them, and all of them."""
    return (*(1 << n for n in range((cpus - 1).bit_length())), cpus) if cpus > 1 else (1,)


class CoreTrials:
    """The experiment of this user on this host, remembered from copy to copy.

    Parameters
    ----------
    folder : where the notes are.
    cpus : that a copy may use.
    """

    def __init__(self, folder: Path, cpus: int) -> None:
        self._folder, self.cpus = folder, cpus

    @classmethod
    def of_this_host(cls, environ: Mapping[str, str]) -> "CoreTrials":
        return cls(build_state_folder(environ), len(os.sched_getaffinity(0)))

    def begin(self, link: str, total_bytes: int, sla: Sla, *, usual: int | None = None) -> CoreTrial:
        """Choose the cores of a copy, and reserve its bytes where it is part of the experiment.

        The level that fewest copies of the link have tried is next, of several the highest. Without a place for notes
        nothing is tried.

        Parameters
        ----------
        usual : cores that the copy would have anyway, such as recommended ones; by default all.
        """
        usual = min(usual or self.cpus, self.cpus)
        control = CoreTrial(link, usual)
        levels = [level for level in list_levels(self.cpus) if level != usual]
        if not levels or sla.kind not in WITHOUT_TARGET or total_bytes <= 0:
            return control
        with suppress(OSError), self._hold_notes() as notes:
            known = notes.setdefault(link, {"bytes": 0, "explored_bytes": 0, "tried": {}})
            if known["explored_bytes"] + total_bytes > EXPLORED_SHARE * (known["bytes"] + total_bytes):
                return control
            level = min(levels, key=lambda each: (known["tried"].get(str(each), 0), -each))
            known["explored_bytes"] += total_bytes
            known["tried"][str(level)] = known["tried"].get(str(level), 0) + 1
            return CoreTrial(link, level, total_bytes)
        return control

    def finish(self, trial: CoreTrial, moved_bytes: int) -> None:
        """Count the bytes of a copy that has ended; what it did not move is no longer reserved."""
        with suppress(OSError), self._hold_notes() as notes:
            known = notes.pop(trial.link, {"bytes": 0, "explored_bytes": 0, "tried": {}})
            known["bytes"] += moved_bytes
            if trial.is_experiment:
                known["explored_bytes"] = max(known["explored_bytes"] + moved_bytes - trial.planned_bytes, 0)
            notes[trial.link] = known  # the newest comes last
            for oldest in list(notes)[: max(len(notes) - MOST_LINKS, 0)]:
                del notes[oldest]

    @contextmanager
    def _hold_notes(self) -> Iterator[dict[str, Any]]:
        """Yield the notes by link, and store them at the end; other agents wait meanwhile."""
        make_private(self._folder)
        descriptor = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            notes = self._read_notes()
            yield notes
            replace_durably(self._folder / _FILE, json.dumps(notes).encode() + b"\n")
        finally:
            os.close(descriptor)

    def _read_notes(self) -> dict[str, Any]:
        """Return the stored notes; unreadable ones are as none, since they only save repeated trials."""
        try:
            stored = json.loads((self._folder / _FILE).read_bytes())
            return {
                str(link): {
                    "bytes": int(each["bytes"]),
                    "explored_bytes": int(each["explored_bytes"]),
                    "tried": {str(level): int(count) for level, count in each["tried"].items()},
                }
                for link, each in stored.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
