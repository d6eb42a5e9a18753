"""A small experiment on cores and frequency: a tenth of a link's bytes moves with less, and models learn from it.

Cores and frequency become axes of the surfaces only where logs vary them. Each copy of the experiment runs on one
number of cores, at one frequency, from its first byte to its last, so that its record states one setting. The others
run with the usual ones, and their records state those, as the control group.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tuning.resources import HostResources
from tradewind_agent.folders import build_state_folder, make_private, replace_durably

EXPLORED_SHARE = 0.1
"""Share of a link's bytes that may move on other cores than the usual ones."""

MOST_LINKS = 256
"""Links that are remembered; the one that was used least recently is forgotten first."""

WITHOUT_TARGET = frozenset({SlaKind.MAX_THROUGHPUT, SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY})
"""Only SLAs of these kinds are explored under: fewer cores may miss a target, which nobody can know before."""

_FILE, _LOCK = "resource-trials.json", "resource-trials.lock"


@dataclass(frozen=True, slots=True)
class ResourceTrial:
    """The resources of one copy; ``planned_bytes`` of an experiment are reserved, 0 for the control group.

    ``frequency_hz`` : ``None`` where frequency is not tried.
    """

    link: str
    cores: int
    planned_bytes: int = 0
    frequency_hz: float | None = None

    @property
    def is_experiment(self) -> bool:
        return self.planned_bytes > 0

    def describe(self) -> str:
        """Describe the resources, such as ``2 cores at 1.8 GHz``."""
        return str(HostResources(self.cores, self.frequency_hz))


def list_levels(cpus: int) -> tuple[int, ...]:
    """Return the numbers of cores to try on a host: powers of two below all of them, and all of them."""
    return (*(1 << n for n in range((cpus - 1).bit_length())), cpus) if cpus > 1 else (1,)


def _name(level: HostResources) -> str:
    """Return the name of a level in the notes: its cores, and its frequency where that is tried."""
    return f"{level.cores}" if level.frequency_hz is None else f"{level.cores}@{level.frequency_hz:g}"


class ResourceTrials:
    """The experiment of this user on this host, remembered from copy to copy.

    Parameters
    ----------
    folder : where the notes are.
    cpus : that a copy may use.
    """

    def __init__(self, folder: Path, cpus: int) -> None:
        self._folder, self.cpus = folder, cpus

    @classmethod
    def of_this_host(cls, environ: Mapping[str, str]) -> "ResourceTrials":
        return cls(build_state_folder(environ), len(os.sched_getaffinity(0)))

    def begin(
        self, link: str, total_bytes: int, sla: Sla, *, usual: int | None = None, frequencies_hz: Sequence[float] = ()
    ) -> ResourceTrial:
        """Choose the resources of a copy, and reserve its bytes where it is part of the experiment.

        All combinations of cores and frequencies are tried. The one that fewest copies of the link have tried is next,
        of several the one with most cores, at the highest frequency. Without a place for notes nothing is tried.

        Parameters
        ----------
        usual : cores that the copy would have anyway, such as recommended ones; by default all.
        frequencies_hz : frequencies that may be tried, ascending or not; the control group sets none.
        """
        usual = min(usual or self.cpus, self.cpus)
        known_hz: Sequence[float | None] = sorted(frequencies_hz) or [None]
        control = ResourceTrial(link, usual)  # no cap: the highest that all CPUs reach slows the fastest of them
        levels = [
            HostResources(cores, frequency_hz)
            for cores in list_levels(self.cpus)
            for frequency_hz in known_hz
            if (cores, frequency_hz) != (usual, None)
        ]
        if not levels or sla.kind not in WITHOUT_TARGET or total_bytes <= 0:
            return control
        with suppress(OSError), self._hold_notes() as notes:
            known = notes.setdefault(link, {"bytes": 0, "explored_bytes": 0, "tried": {}})
            if known["explored_bytes"] + total_bytes > EXPLORED_SHARE * (known["bytes"] + total_bytes):
                return control
            level = min(
                levels,
                key=lambda each: (known["tried"].get(_name(each), 0), -(each.cores or 0), -(each.frequency_hz or 0.0)),
            )
            known["explored_bytes"] += total_bytes
            known["tried"][_name(level)] = known["tried"].get(_name(level), 0) + 1
            return ResourceTrial(link, level.cores or self.cpus, total_bytes, level.frequency_hz)
        return control

    def finish(self, trial: ResourceTrial, moved_bytes: int) -> None:
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
