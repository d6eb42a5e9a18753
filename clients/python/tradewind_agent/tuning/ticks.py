"""What was seen and decided, tick by tick: for the report, the terminal, and the service that may not have it yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan, whole_setting
from tradewind.wire.heartbeats import ChunkDecision, Heartbeat, SpooledHeartbeat
from tradewind.wire.recommendations import wire_parameters


class DecidedBy(StrEnum):
    SERVICE = "service"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to do until the next tick, whoever has decided it; see ``Decision`` for ``sla_bank``."""

    chunks: tuple[ChunkPlan, ...]
    changed: bool
    kind: str
    reason: str
    by: DecidedBy
    sla_bank: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One sample and what was decided on it, ``elapsed_s`` after the start."""

    elapsed_s: float
    heartbeat: Heartbeat
    verdict: Verdict

    @property
    def sequence(self) -> int:
        return self.heartbeat.sequence

    def spooled(self) -> SpooledHeartbeat:
        """The tick as it is kept for the service; the enquiry is told by the first one."""
        chunks = (
            ChunkDecision(chunk=each.chunk, parameters=wire_parameters(each.parameters)) for each in self.verdict.chunks
        )
        return SpooledHeartbeat(
            heartbeat=self.heartbeat.model_copy(update={"enquiry": None}) if self.sequence else self.heartbeat,
            chunks=tuple(chunks),
            changed=self.verdict.changed,
            kind=self.verdict.kind,
            reason=self.verdict.reason,
            sla_bank=self.verdict.sla_bank,
        )

    def document(self) -> dict[str, Any]:
        """The tick in the names of the wire."""
        sample = self.heartbeat.model_dump(mode="json", exclude={"enquiry"}, exclude_none=True)
        decision = {
            "by": str(self.verdict.by),
            "kind": self.verdict.kind,
            "changed": self.verdict.changed,
            "reason": self.verdict.reason,
            "sla_bank": self.verdict.sla_bank,
            "parameters": _whole(self.verdict.chunks).known(),
            "chunks": [
                {"chunk": str(each.chunk), "parameters": each.parameters.known()} for each in self.verdict.chunks
            ],
        }
        return {"elapsed_s": self.elapsed_s, "sample": sample, "decision": decision}


def change_line(elapsed_s: float, before: Sequence[ChunkPlan], after: Sequence[ChunkPlan], reason: str) -> str:
    """One line for people, such as ``12 s: 8 → 16 files at once: 41 Mbit/s where 80 Mbit/s was expected``."""
    return f"{elapsed_s:.0f} s: {', '.join(_changes(before, after)) or 'other settings'}: {reason}"


_WORDS = (
    ("concurrency", "files at once"),
    ("parallelism", "streams a file"),
    ("pipelining", "requests in flight"),
)


def _changes(before: Sequence[ChunkPlan], after: Sequence[ChunkPlan]) -> list[str]:
    """What differs: of all chunks together where that tells it, else chunk by chunk."""
    whole = _differences(_whole(before), _whole(after))
    if whole or len(before) == 1:
        return whole
    known = {each.chunk: each.parameters for each in before}
    return [
        f"{each.chunk} {change}"
        for each in after
        if each.chunk in known
        for change in _differences(known[each.chunk], each.parameters)
    ]


def _whole(plan: Sequence[ChunkPlan]) -> Parameters:
    return whole_setting([each.parameters for each in plan])


def _differences(before: Parameters, after: Parameters) -> list[str]:
    pairs = ((getattr(before, name) or 1, getattr(after, name) or 1, words) for name, words in _WORDS)
    return [f"{old} → {new} {words}" for old, new, words in pairs if old != new]


def main_settings(ticks: Sequence[Tick]) -> dict[ChunkKind, Parameters]:
    """Of each chunk the setting that moved most bytes: what its log row is to be learned from.

    A sample tells the setting in force when it was taken; a tool may take up what was decided only some ticks later.
    A chunk that no tick has seen moving is left out.
    """
    moved: dict[ChunkKind, dict[Parameters, float]] = {}
    for tick in ticks[1:]:
        for chunk in tick.heartbeat.chunks:
            if chunk.throughput_bps > 0:
                by_setting = moved.setdefault(chunk.chunk, {})
                parameters = Parameters(**dict(chunk.parameters))
                bits = chunk.throughput_bps * tick.heartbeat.interval_s
                by_setting[parameters] = by_setting.get(parameters, 0.0) + bits
    return {kind: max(by_setting, key=lambda each: by_setting[each]) for kind, by_setting in moved.items()}
