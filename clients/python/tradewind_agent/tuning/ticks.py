"""Samples and decisions, tick by tick: for the report, the terminal, and a service that may not have them yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan, combine_settings
from tradewind.tuning.resources import HostResources
from tradewind_agent.tuning.transfer_sample import TransferSample


class DecidedBy(StrEnum):
    SERVICE = "service"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision of the service or of this host until the next tick; see ``Decision`` for ``sla_bank``."""

    chunks: tuple[ChunkPlan, ...]
    changed: bool
    kind: str
    reason: str
    by: DecidedBy
    sla_bank: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One sample and the decision on it, ``elapsed_s`` after the start."""

    elapsed_s: float
    sample: TransferSample
    verdict: Verdict

    @property
    def sequence(self) -> int:
        return self.sample.sequence

    def build_document(self) -> dict[str, Any]:
        """Return the tick under its wire names."""
        decision = {
            "by": str(self.verdict.by),
            "kind": self.verdict.kind,
            "changed": self.verdict.changed,
            "reason": self.verdict.reason,
            "sla_bank": self.verdict.sla_bank,
            "parameters": _combine(self.verdict.chunks).list_known(),
            "chunks": [
                {"chunk": str(chunk.chunk), "parameters": chunk.parameters.list_known()}
                for chunk in self.verdict.chunks
            ],
        }
        return {"elapsed_s": self.elapsed_s, "sample": self.sample.build_document(), "decision": decision}


def change_line(elapsed_s: float, before: Sequence[ChunkPlan], after: Sequence[ChunkPlan], reason: str) -> str:
    """Return one line, such as ``12 s: 8 → 16 files at once: 41 Mbit/s where 80 Mbit/s was expected``."""
    return f"{elapsed_s:.0f} s: {', '.join(_describe_changes(before, after)) or 'other settings'}: {reason}"


_WORDS = (
    ("concurrency", "files at once"),
    ("parallelism", "streams a file"),
    ("pipelining", "requests in flight"),
)


def _describe_changes(before: Sequence[ChunkPlan], after: Sequence[ChunkPlan]) -> list[str]:
    """Describe the differences of all chunks together, or chunk by chunk if the totals are equal."""
    combined = _list_differences(_combine(before), _combine(after))
    if combined or len(before) == 1:
        return combined
    known = {chunk.chunk: chunk.parameters for chunk in before}
    return [
        f"{chunk.chunk} {change}"
        for chunk in after
        if chunk.chunk in known
        for change in _list_differences(known[chunk.chunk], chunk.parameters)
    ]


def _combine(plan: Sequence[ChunkPlan]) -> Parameters:
    return combine_settings([chunk.parameters for chunk in plan])


def _list_differences(before: Parameters, after: Parameters) -> list[str]:
    pairs = ((getattr(before, name) or 1, getattr(after, name) or 1, words) for name, words in _WORDS)
    changes = [f"{old} → {new} {words}" for old, new, words in pairs if old != new]
    resources = HostResources.of(before), HostResources.of(after)
    return changes if resources[0] == resources[1] else [*changes, " → ".join(map(str, resources))]


def build_main_settings(ticks: Sequence[Tick]) -> dict[ChunkKind, Parameters]:
    """Return the setting of each chunk that moved most bytes: models learn from it.

    A sample holds the setting at its own time; a tool may adopt a decision only some ticks later. A chunk that moved
    in no tick is left out.
    """
    moved: dict[ChunkKind, dict[Parameters, float]] = {}
    for tick in ticks[1:]:
        for chunk in tick.sample.chunks:
            if chunk.throughput_bps > 0:
                by_setting = moved.setdefault(chunk.kind, {})
                bits = chunk.throughput_bps * tick.sample.interval_s
                by_setting[chunk.parameters] = by_setting.get(chunk.parameters, 0.0) + bits
    return {kind: max(by_setting, key=lambda setting: by_setting[setting]) for kind, by_setting in moved.items()}
