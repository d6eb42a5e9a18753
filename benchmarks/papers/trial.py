"""A measurement for a claim, beyond single transfers of our engine, that is stored as one row."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.papers.catalogue import Claims
from benchmarks.wan.runs import PARTS, Row

_AGENT, _CORE = "clients/python/tradewind_agent", "core/tradewind"
_ALL = (
    f"{_AGENT}/engine",
    f"{_AGENT}/copy/moving.py",
    f"{_AGENT}/meters/cpu_model.py",
    "benchmarks/testbed",
    "benchmarks/support/processes.py",
    "benchmarks/papers/paths.py",
)
_CHOICE = (
    *(f"{_CORE}/{name}.py" for name in ("cluster", "dataset", "heuristics", "load_effect", "prediction")),
    f"{_CORE}/tiers/selection.py",
    f"{_CORE}/tiers/setting_table.py",
    f"{_CORE}/tuning",
)
"""The code that chooses from what was learned, without an agent."""

SOURCES: Mapping[str, tuple[str, ...]] = {
    "transfers": (*_ALL, "benchmarks/papers/transfers.py"),
    "tuners": (
        *_ALL,
        *_CHOICE,
        f"{_CORE}/learning",
        "benchmarks/papers/trials/tuner_trials.py",
        *(f"benchmarks/tuning/{name}.py" for name in ("driver", "history", "task", "transfers", "tuners")),
        "benchmarks/records/tuning-history.ndjson",
    ),
    "peers": (
        *_ALL,
        *PARTS["controller"],
        "benchmarks/papers/trials/peer_trial.py",
    ),
    "packing": (
        *_ALL,
        "benchmarks/papers/trials/packing_trials.py",
        "benchmarks/papers/trials/packing_client.py",
        "benchmarks/compression/files.py",
        f"{_AGENT}/compression",
        f"{_AGENT}/serve",
        f"{_CORE}/compression",
        "benchmarks/support/disturbance.py",
    ),
    "losses": (
        "benchmarks/papers/trials/loss_trials.py",
        *(f"benchmarks/transport/{name}.py" for name in ("installed", "origin", "scripted_receiver")),
        f"{_AGENT}/transport",
        "clients/bpf",
    ),
    "pages": (
        *_ALL,
        "benchmarks/papers/trials/page_trials.py",
        "benchmarks/transport",
        "benchmarks/support/disturbance.py",
        f"{_AGENT}/serve",
        f"{_AGENT}/transport",
        "clients/bpf",
        f"{_CORE}/connections",
    ),
}
"""The sources that the figures of single transfers, and of each kind of trial, depend on.

Our copy next to other tools plans and tunes by itself; its controller next to cross traffic does so from what was
learned.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSite:
    """Where a trial is made.

    ``prioritised`` : whether it has precedence over all other programs.
    """

    claims: Claims
    folder: Path
    seed: int
    prioritised: bool


class Trial(Protocol):
    """A trial. It is hashable; two equal ones are one measurement.

    It is a protocol because every kind of trial has its own class.
    """

    @property
    def name(self) -> str: ...

    @property
    def source_part(self) -> str:
        """A name of `SOURCES`."""

    def describe_conditions(self, claims: Claims) -> str:
        """Return what the trial takes from the claims: another value is another trial."""

    def measure(self, yard: TrialSite) -> Row:
        """Make the trial; ``disturbed`` of the row says what disturbed the machine meanwhile, or is ``None``."""
