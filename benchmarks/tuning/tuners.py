"""Who decides: the controller, each reference variant, or nobody; all have the same interface."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, NamedTuple, Protocol, TypeVar

from benchmarks.tuning.falcon_bayes import FalconBayes
from benchmarks.tuning.task import Task
from tradewind.dataset import SizeBin
from tradewind.errors import InvalidValue
from tradewind.heuristics import plan_max_throughput
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan, CompactTable
from tradewind.tiers.selection import choose_setting
from tradewind.tuning import Basis, TickSample, begin, prepare_basis, step
from tradewind.tuning.reference.aimd import Aimd
from tradewind.tuning.reference.algorithms_1_2 import Algorithms12, Constraint
from tradewind.tuning.reference.ee import EE
from tradewind.tuning.reference.falcon_gradient import FalconGradient
from tradewind.tuning.reference.fts3 import Fts3
from tradewind.tuning.reference.htee import HTEE
from tradewind.tuning.reference.maxthr import MaxThr
from tradewind.tuning.reference.mine import MinE
from tradewind.tuning.reference.slaee import SLAEE
from tradewind.tuning.reference.stages import Stages
from tradewind.tuning.reference.variant import Plan, Variant

OURS = "ours"
STATIC = "static"

StateT = TypeVar("StateT")


class TunerDecision(NamedTuple):
    """The plan from now on; kind and reason of the decision, where the tuner gives them."""

    plan: Plan
    kind: str = ""
    reason: str = ""


class Tuner(Protocol):
    """Decides after each tick; ``plan`` is the one before the first byte."""

    @property
    def plan(self) -> Plan: ...

    def decide(self, sample: TickSample) -> TunerDecision: ...


class ControllerTuner:
    """Our controller, which starts with the table's choice."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis
        self._state = begin(basis)

    @property
    def plan(self) -> Plan:
        return self._state.decision.chunks

    def decide(self, sample: TickSample) -> TunerDecision:
        self._state, decision = step(self._basis, self._state, sample)
        return TunerDecision(decision.chunks, decision.kind.value, decision.reason)


class ReferenceTuner(Generic[StateT]):
    """A reference variant."""

    def __init__(self, variant: Variant[StateT]) -> None:
        self._variant = variant
        self._state, self.plan = variant.begin()

    def decide(self, sample: TickSample) -> TunerDecision:
        self._state, self.plan = self._variant.step(self._state, sample)
        return TunerDecision(self.plan)


@dataclass(frozen=True, slots=True)
class StaticTuner:
    """One setting from start to end."""

    plan: Plan

    def decide(self, sample: TickSample) -> TunerDecision:  # noqa: ARG002 — the decision does not depend on it
        return TunerDecision(self.plan)


def make_tuner(task: Task) -> Tuner:
    """Make the tuner that a task names.

    Raises
    ------
    InvalidValue : an unknown name, or a task without what its tuner starts from.
    """
    if task.tuner not in _MAKERS:
        raise InvalidValue("tuner", f"is one of {', '.join(_MAKERS)}, got {task.tuner!r}")
    return _MAKERS[task.tuner](task)


def _build_chunk_plan(task: Task, parameters: Parameters) -> ChunkPlan:
    return ChunkPlan(task.chunk.kind, None, parameters)


def _make_static(task: Task) -> Tuner:
    if task.parameters is None:
        raise InvalidValue("setting", "the static tuner needs one")
    return StaticTuner((_build_chunk_plan(task, task.parameters),))


def _require_table(task: Task) -> CompactTable:
    table = task.read_table()
    if table is None:
        raise InvalidValue("table", f"{task.tuner} starts from a learned table")
    return table


def _make_controller(task: Task) -> Tuner:
    """Make the controller as in service: no table expects more than the path carries."""
    chunk, table = task.chunk, _require_table(task).limit_throughputs(task.bandwidth_bps)
    dataset = chunk.dataset
    choice = choose_setting(table.predicted, task.sla, dataset_bytes=dataset.total_bytes)
    start = plan_max_throughput([chunk], task.path)[0].parameters if choice is None else choice.setting.parameters
    files = SizeBin(task.file_bytes, dataset.file_count, dataset.total_bytes)
    plan = (_build_chunk_plan(task, start),)
    return ControllerTuner(
        prepare_basis(sla=task.sla, plan=plan, tables={chunk.kind: table}, bins=(files,), path=task.path)
    )


def _make_algorithms_1_2(task: Task) -> Tuner:
    """Make the algorithms as printed, on the same table: for an SLA the fewest streams that reach it by the table."""
    table = _require_table(task).predicted
    fastest = max(table.settings, key=lambda setting: setting.log_throughput_mean)
    target_bps = task.target_bps or math.exp(fastest.log_throughput_mean)

    def find_precomputed(sla_bps: float) -> Parameters:
        enough = [setting for setting in table.settings if setting.log_throughput_mean >= math.log(sla_bps)]
        return min(enough, key=lambda setting: setting.parameters.streams, default=fastest).parameters

    plan = _build_chunk_plan(task, find_precomputed(target_bps))
    variant = Algorithms12(plan, Constraint.THROUGHPUT, target_bps, find_precomputed, expected_delay_s=task.rtt_s)
    return ReferenceTuner(variant)


def _make_slaee(task: Task) -> Tuner:
    return ReferenceTuner(SLAEE((task.chunk,), task.path, task.target_bps or task.bandwidth_bps))


_MAKERS: Mapping[str, Callable[[Task], Tuner]] = MappingProxyType(
    {
        OURS: _make_controller,
        "algorithms_1_2": _make_algorithms_1_2,
        "htee": lambda task: ReferenceTuner(HTEE((task.chunk,), task.path)),
        "ee": lambda task: ReferenceTuner(EE((task.chunk,), task.path)),
        "slaee": _make_slaee,
        "mine": lambda task: ReferenceTuner(MinE((task.chunk,), task.path)),
        "maxthr": lambda task: ReferenceTuner(MaxThr((task.chunk,), task.path)),
        "falcon": lambda task: ReferenceTuner(FalconGradient((task.chunk,), task.path)),
        "falcon_bayes": lambda task: ReferenceTuner(FalconBayes((task.chunk,), task.path)),
        "fts3": lambda task: ReferenceTuner(Fts3((task.chunk,))),
        "aimd": lambda task: ReferenceTuner(Aimd((task.chunk,), task.path)),
        "stages": lambda task: ReferenceTuner(Stages((task.chunk,), task.path)),
        STATIC: _make_static,
    }
)

VARIANTS = tuple(name for name in _MAKERS if name not in (OURS, STATIC))
