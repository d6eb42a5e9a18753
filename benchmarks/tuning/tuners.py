"""Who decides: the controller, each reference variant, or nobody; all are asked the same way."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, NamedTuple, Protocol, TypeVar

from benchmarks.tuning.task import Task
from tradewind.dataset import SizeBin
from tradewind.errors import InvalidValue
from tradewind.heuristics import max_throughput
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan, CompactTable
from tradewind.tiers.selection import choose
from tradewind.tuning import Basis, Sample, begin, opened, step
from tradewind.tuning.reference.algorithms_1_2 import Algorithms12, Constraint
from tradewind.tuning.reference.ee import EE
from tradewind.tuning.reference.falcon_gradient import FalconGradient
from tradewind.tuning.reference.fts3 import Fts3
from tradewind.tuning.reference.htee import HTEE
from tradewind.tuning.reference.maxthr import MaxThr
from tradewind.tuning.reference.mine import MinE
from tradewind.tuning.reference.slaee import SLAEE
from tradewind.tuning.reference.variant import Plan, Variant

OURS = "ours"
STATIC = "static"

StateT = TypeVar("StateT")


class Told(NamedTuple):
    """The plan from now on; what was decided, where the tuner says it."""

    plan: Plan
    kind: str = ""
    reason: str = ""


class Tuner(Protocol):
    """Decides after each tick; ``plan`` is the one before the first byte."""

    @property
    def plan(self) -> Plan: ...

    def after(self, sample: Sample) -> Told: ...


class Controlled:
    """Our controller, begun at the table's choice."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis
        self._state = begin(basis)

    @property
    def plan(self) -> Plan:
        return self._state.decision.chunks

    def after(self, sample: Sample) -> Told:
        self._state, decision = step(self._basis, self._state, sample)
        return Told(decision.chunks, decision.kind.value, decision.reason)


class Referenced(Generic[StateT]):
    """A reference variant."""

    def __init__(self, variant: Variant[StateT]) -> None:
        self._variant = variant
        self._state, self.plan = variant.begin()

    def after(self, sample: Sample) -> Told:
        self._state, self.plan = self._variant.step(self._state, sample)
        return Told(self.plan)


@dataclass(frozen=True, slots=True)
class Unmoved:
    """One setting from start to end."""

    plan: Plan

    def after(self, sample: Sample) -> Told:  # noqa: ARG002 — whatever happens
        return Told(self.plan)


def tuner_of(task: Task) -> Tuner:
    """The tuner that a task names.

    Raises
    ------
    InvalidValue : an unknown name, or a task without what its tuner starts from.
    """
    if task.tuner not in _MAKERS:
        raise InvalidValue("tuner", f"is one of {', '.join(_MAKERS)}, got {task.tuner!r}")
    return _MAKERS[task.tuner](task)


def _planned(task: Task, parameters: Parameters) -> ChunkPlan:
    return ChunkPlan(task.chunk.kind, None, parameters)


def _static(task: Task) -> Tuner:
    if task.parameters is None:
        raise InvalidValue("setting", "the static tuner needs one")
    return Unmoved((_planned(task, task.parameters),))


def _table(task: Task) -> CompactTable:
    table = task.read_table()
    if table is None:
        raise InvalidValue("table", f"{task.tuner} starts from a learned table")
    return table


def _ours(task: Task) -> Tuner:
    """As in service: no table expects more than the path carries."""
    chunk, table = task.chunk, _table(task).below(task.bandwidth_bps)
    dataset = chunk.dataset
    choice = choose(table.predicted, task.sla, dataset_bytes=dataset.total_bytes)
    start = max_throughput([chunk], task.path)[0].parameters if choice is None else choice.setting.parameters
    files = SizeBin(task.file_bytes, dataset.file_count, dataset.total_bytes)
    plan = (_planned(task, start),)
    return Controlled(opened(sla=task.sla, plan=plan, tables={chunk.kind: table}, bins=(files,), path=task.path))


def _algorithms_1_2(task: Task) -> Tuner:
    """As printed, on the same table: for an agreement the fewest streams that the table says reach it."""
    table = _table(task).predicted
    fastest = max(table.settings, key=lambda each: each.log_throughput_mean)
    target_bps = task.target_bps or math.exp(fastest.log_throughput_mean)

    def precomputed(sla_bps: float) -> Parameters:
        enough = [each for each in table.settings if each.log_throughput_mean >= math.log(sla_bps)]
        return min(enough, key=lambda each: each.parameters.streams, default=fastest).parameters

    plan = _planned(task, precomputed(target_bps))
    variant = Algorithms12(plan, Constraint.THROUGHPUT, target_bps, precomputed, expected_delay_s=task.rtt_s)
    return Referenced(variant)


def _slaee(task: Task) -> Tuner:
    return Referenced(SLAEE((task.chunk,), task.path, task.target_bps or task.bandwidth_bps))


_MAKERS: Mapping[str, Callable[[Task], Tuner]] = MappingProxyType(
    {
        OURS: _ours,
        "algorithms_1_2": _algorithms_1_2,
        "htee": lambda task: Referenced(HTEE((task.chunk,), task.path)),
        "ee": lambda task: Referenced(EE((task.chunk,), task.path)),
        "slaee": _slaee,
        "mine": lambda task: Referenced(MinE((task.chunk,), task.path)),
        "maxthr": lambda task: Referenced(MaxThr((task.chunk,), task.path)),
        "falcon": lambda task: Referenced(FalconGradient((task.chunk,), task.path)),
        "fts3": lambda task: Referenced(Fts3((task.chunk,))),
        STATIC: _static,
    }
)

VARIANTS = tuple(name for name in _MAKERS if name not in (OURS, STATIC))
