"""The controller's state between two ticks: small, immutable, and JSON for a store that may lose it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tradewind.dataset import ChunkKind
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.bank import Bank
from tradewind.tuning.decision import Decision, DecisionKind
from tradewind.tuning.gradient import Search
from tradewind.tuning.path.base_rtt import BaseRtt
from tradewind.tuning.path.belief import Belief, Gain
from tradewind.tuning.path.change import ChangeDetector
from tradewind.tuning.path.congestion import StreamLimit
from tradewind.tuning.path.plateau import Plateau
from tradewind.tuning.path.queue_depth import QueueDepth
from tradewind.tuning.rest import Rest

VERSION = 8
"""Raised when the meaning of a stored state changes; `resume` then rebuilds an older one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningState:
    """What is remembered after the tick ``sequence`` (−1 before the first).

    ``decision`` : the last one; its chunks are the plan that was asked for. ``at_s``, ``sent_bytes``,
    ``retransmitted_bytes`` : the last sample's. ``elapsed_s`` : time since the start, by intervals.
    ``changed_s`` : elapsed time when streams were changed last; ``None`` if never. ``search`` : ``None`` while the
    table is followed. ``reopened`` : the trust region is open for the next move. ``rest`` : of the last search that
    found nothing that pays; it is not stored, as it makes no difference to what is decided.
    """

    decision: Decision
    belief: Belief
    sequence: int = -1
    at_s: float = 0.0
    elapsed_s: float = 0.0
    changed_s: float | None = None
    sent_bytes: int | None = None
    retransmitted_bytes: int | None = None
    bank: Bank = field(default_factory=Bank)
    change: ChangeDetector = field(default_factory=ChangeDetector)
    limit: StreamLimit = field(default_factory=StreamLimit)
    plateau: Plateau = field(default_factory=Plateau)
    base_rtt: BaseRtt = field(default_factory=BaseRtt)
    queue_depth: QueueDepth = field(default_factory=QueueDepth)
    search: Search | None = None
    reopened: bool = False
    rest: Rest | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold; `from_dict` restores the same state."""
        return {
            "version": VERSION,
            "decision": _encode_decision(self.decision),
            "belief": _encode_belief(self.belief),
            "sequence": self.sequence,
            "at_s": self.at_s,
            "elapsed_s": self.elapsed_s,
            "changed_s": self.changed_s,
            "sent_bytes": self.sent_bytes,
            "retransmitted_bytes": self.retransmitted_bytes,
            "bank": _list_values(self.bank),
            "change": _list_values(self.change),
            "limit": _list_values(self.limit),
            "plateau": _list_values(self.plateau),
            "base_rtt": _list_values(self.base_rtt),
            "queue_depth": _list_values(self.queue_depth),
            "search": None if self.search is None else _list_values(self.search),
            "reopened": self.reopened,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "TuningState":
        """Restore the state that `to_dict` wrote.

        Raises
        ------
        InvalidValue : of another version, or damaged; the caller rebuilds it by `resume`.
        """
        if stored.get("version") != VERSION:
            raise InvalidValue("state.version", f"is {stored.get('version')}, not {VERSION}")
        try:
            search = stored["search"]
            return cls(
                decision=_decode_decision(stored["decision"]),
                belief=_decode_belief(stored["belief"]),
                bank=Bank(*stored["bank"]),
                change=ChangeDetector(*stored["change"]),
                limit=StreamLimit(*stored["limit"]),
                plateau=Plateau(*stored["plateau"]),
                base_rtt=BaseRtt(*stored["base_rtt"]),
                queue_depth=QueueDepth(*stored["queue_depth"]),
                search=None if search is None else Search(*search),
                **{name: stored[name] for name in _PLAIN},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidValue("state", f"is damaged: {error!r}") from error

    def with_limit(self, limit: StreamLimit) -> "TuningState":
        """Return the state with this stream limit, which is the same on most ticks."""
        return self if limit is self.limit else replace(self, limit=limit)


_PLAIN = ("sequence", "at_s", "elapsed_s", "changed_s", "sent_bytes", "retransmitted_bytes", "reopened")


def _list_values(flat: Bank | BaseRtt | ChangeDetector | StreamLimit | Plateau | QueueDepth | Search) -> list[Any]:
    """Return the values in the order of the fields; ``astuple`` would copy each deeply, every tick."""
    return [getattr(flat, name) for name in flat.__slots__]


def _encode_decision(decision: Decision) -> dict[str, Any]:
    return {
        "chunks": [[plan.chunk.value, plan.max_file_bytes, plan.parameters.list_known()] for plan in decision.chunks],
        "changed": decision.changed,
        "reason": decision.reason,
        "kind": decision.kind.value,
        "sla_bank": decision.sla_bank,
    }


def _decode_decision(stored: Mapping[str, Any]) -> Decision:
    chunks: Sequence[tuple[str, int | None, dict[str, Any]]] = stored["chunks"]
    return Decision(
        chunks=tuple(ChunkPlan(ChunkKind(kind), top, Parameters(**known)) for kind, top, known in chunks),
        changed=stored["changed"],
        reason=stored["reason"],
        kind=DecisionKind(stored["kind"]),
        sla_bank=stored["sla_bank"],
    )


def _encode_belief(belief: Belief) -> dict[str, Any]:
    return {
        "path": list(belief.path),
        "chunks": {kind.value: list(gain) for kind, gain in belief.chunks.items()},
        "power": list(belief.power),
        "noise": belief.noise,
        "ticks": belief.ticks,
    }


def _decode_belief(stored: Mapping[str, Any]) -> Belief:
    return Belief(
        path=Gain(*stored["path"]),
        chunks={ChunkKind(kind): Gain(*gain) for kind, gain in stored["chunks"].items()},
        power=Gain(*stored["power"]),
        noise=stored["noise"],
        ticks=stored["ticks"],
    )
