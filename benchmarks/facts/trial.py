"""What is measured for a claim in one go, beyond single transfers of our engine, and kept as one row."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.facts.catalogue import Facts
from benchmarks.wan.runs import Row

_AGENT = "clients/python/tradewind_agent"
_ALL = (f"{_AGENT}/engine", f"{_AGENT}/moving.py", "benchmarks/testbed")

SOURCES: Mapping[str, tuple[str, ...]] = {
    "tuners": (
        *_ALL,
        "benchmarks/facts/tuner_trials.py",
        *(f"benchmarks/tuning/{name}.py" for name in ("driver", "task", "transfers", "tuners")),
        "core/tradewind/heuristics.py",
        "core/tradewind/tuning",
    ),
    "peers": (*_ALL, "benchmarks/facts/peer_trial.py"),
    "packing": (
        *_ALL,
        "benchmarks/facts/packing_trials.py",
        "benchmarks/facts/packing_client.py",
        "benchmarks/compression/files.py",
        f"{_AGENT}/compression",
        f"{_AGENT}/serve",
        "core/tradewind/compression",
    ),
    "pages": (
        *_ALL,
        "benchmarks/facts/page_trials.py",
        "benchmarks/transport",
        f"{_AGENT}/serve",
        "core/tradewind/connections",
    ),
}
"""What a trial's figures depend on, by the sort of trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yard:
    """Where a trial is made. ``ahead`` : whether it goes ahead of whatever else this machine does."""

    facts: Facts
    folder: Path
    seed: int
    ahead: bool


class Trial(Protocol):
    """Hashable; two that are equal are one measurement."""

    @property
    def name(self) -> str: ...

    @property
    def sort(self) -> str:
        """A name of `SOURCES`."""

    def conditions(self, facts: Facts) -> str:
        """What of the claims it is made by: another value is another trial."""

    def measured(self, yard: Yard) -> Row:
        """Make it; ``disturbed`` of the row says what was wrong with the machine meanwhile, ``None`` if nothing."""
