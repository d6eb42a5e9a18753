"""Settings of chunks: each chunk's share of the SLA, the best setting for it, and what all chunks reach together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from uuid import UUID

from tradewind.dataset import Chunk, DataSet
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.prediction import Interval, PredictedSetting, Prediction, Quantity, predict
from tradewind.recommendation import ChunkPlan
from tradewind.shared_pipe import compute_shared_duration_s
from tradewind.sla.kinds import ENERGY_KINDS, EnergyBasis, Sla, SlaKind
from tradewind.tiers.selection import choose_setting, compute_target_in_unit
from tradewind.tiers.setting_table import QUANTITY_OF, SettingTable
from tradewind.units import BITS_PER_BYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """A setting for a chunk's share of an SLA, its prediction for one byte, and how likely it meets the share.

    ``base_power_w`` : base power of the metered hosts, where it is known.
    """

    setting: PredictedSetting
    per_byte: Prediction
    base_power_w: float | None
    probability: float
    feasible: bool
    tier_id: UUID | None = None
    tier: str | None = None


def plan_chunk(chunk: Chunk, solution: Solution) -> ChunkPlan:
    """Return the plan of a chunk: the setting, with no more channels than files, since others would be idle."""
    parameters = solution.setting.parameters
    files = chunk.dataset.file_count
    if (parameters.concurrency or 1) > files:
        parameters = replace(parameters, concurrency=files)
    return ChunkPlan(chunk.kind, chunk.max_file_bytes, parameters)


def needs_power(sla: Sla) -> bool:
    """Return whether the SLA can be solved only where the logs have power."""
    return sla.kind in ENERGY_KINDS


def scale_sla(sla: Sla, share: float, base_power_w: float | None) -> Sla:
    """Return a chunk's share of the SLA on the entire transfer, see `scale_target`."""
    target = scale_target(sla, share, base_power_w)
    return sla if target is None else sla.with_target(target)


def scale_target(sla: Sla, share: float, base_power_w: float | None) -> float | None:
    """Return a chunk's part of the target: rates and energies by bytes, power above the base by bytes.

    ``None`` where the SLA holds for each chunk unchanged: deadlines and fractions, because all chunks start together,
    and kinds without a target.
    """
    if sla.target is None or sla.kind is SlaKind.DEADLINE or not 0 < share < 1:
        return None
    if sla.kind is SlaKind.POWER_AT_MOST:
        base_w = min(base_power_w or 0.0, sla.target)
        return base_w + (sla.target - base_w) * share
    return sla.target * share


def fits_caps_together(solutions: Sequence[Solution], caps: Caps) -> bool:
    """Return whether the chunks' files and streams, added up, stay within the caps."""
    files = sum(solution.setting.parameters.concurrency or 1 for solution in solutions)
    streams = sum(solution.setting.parameters.streams for solution in solutions)
    return (caps.concurrency is None or files <= caps.concurrency) and (caps.streams is None or streams <= caps.streams)


def solve(table: SettingTable, chunk: Chunk, sla: Sla, caps: Caps = NO_CAPS) -> Solution | None:
    """Return the best permitted setting of a table for one chunk; ``None`` if the caps permit none."""
    choice = choose_setting(table, sla, caps, dataset_bytes=chunk.dataset.total_bytes)
    if choice is None:
        return None
    return Solution(
        setting=choice.setting,
        per_byte=predict(choice.setting, dataset_bytes=1.0, basis=sla.energy_basis, base_power_w=table.base_power_w),
        base_power_w=table.base_power_w,
        probability=choice.probability,
        feasible=choice.feasible,
    )


def predict_together(
    chunks: Sequence[Chunk], solutions: Sequence[Solution], dataset: DataSet, sla: Sla, ceiling_bps: float
) -> Prediction:
    """Predict the transfer of the entire data set while all chunks run together.

    One chunk is predicted alone. Several share the pipe, see `compute_shared_duration_s`. Power adds up above the base.
    Relative widths are the byte-weighted means of the chunks', as if all errors were fully correlated, which is
    the wider assumption.
    """
    if len(solutions) == 1:
        return solutions[0].per_byte.scale_to_bytes(dataset.total_bytes)
    rates, energies, powers = zip(*[solution.per_byte for solution in solutions], strict=True)
    sizes, total_bytes = [chunk.dataset.total_bytes for chunk in chunks], max(dataset.total_bytes, 1)
    weights = [size / total_bytes for size in sizes]
    rates_bps = [rate.mean for rate in rates]
    duration_s = compute_shared_duration_s(sizes, rates_bps, ceiling_bps)
    throughput = BITS_PER_BYTE * dataset.total_bytes / duration_s if duration_s else sum(rates_bps)
    throughput_bps = _widen(throughput, rates, weights)
    if None in powers:
        return Prediction(throughput_bps=throughput_bps, energy_j=None, power_w=None)
    base_w = solutions[0].base_power_w or 0.0
    shared_w = 0.0 if sla.energy_basis is EnergyBasis.DYNAMIC else base_w
    power_w = shared_w + sum([max(power.mean - shared_w, 0.0) for power in powers])
    return Prediction(
        throughput_bps=throughput_bps,
        energy_j=_widen(power_w * duration_s, energies, weights),
        power_w=_widen(power_w, powers, weights),
    )


def assess_together(
    solutions: Sequence[Solution],
    predicted: Prediction,
    dataset: DataSet,
    sla: Sla,
    ceiling_bps: float | None = None,
) -> tuple[float, bool]:
    """Return the probability that the entire transfer meets the SLA, and whether that can be promised.

    Each chunk meets its share as if it had the pipe alone; a rate or a deadline must also hold for the prediction of
    all chunks together. No target above ``ceiling_bps`` can be met.
    """
    probability, feasible = 1.0, True
    for solution in solutions:
        probability = min(probability, solution.probability)
        feasible = feasible and solution.feasible
    if sla.target is None or QUANTITY_OF.get(sla.kind) is not Quantity.THROUGHPUT:
        return probability, feasible
    needed_bps = compute_target_in_unit(sla, dataset_bytes=dataset.total_bytes, certifiable_bps=None)
    if needed_bps and ceiling_bps is not None and needed_bps > ceiling_bps:
        return 0.0, False
    if len(solutions) == 1 or not needed_bps:
        return probability, feasible
    probability = min(probability, predicted.throughput_bps.compute_probability_above(needed_bps))
    return probability, feasible and probability >= sla.confidence


def bound_by_bandwidth(predicted: Prediction, bandwidth_bps: float | None) -> Prediction:
    """Return the prediction with its rate bounded by the path's bandwidth."""
    if bandwidth_bps is None or predicted.throughput_bps.high <= bandwidth_bps:
        return predicted
    rate = predicted.throughput_bps
    bounded = Interval(min(rate.mean, bandwidth_bps), min(rate.low, bandwidth_bps), bandwidth_bps)
    return Prediction(throughput_bps=bounded, energy_j=predicted.energy_j, power_w=predicted.power_w)


def _widen(mean: float, parts: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """Return an interval around ``mean`` whose relative ends are the weighted means of the parts'."""
    low = high = 0.0
    for weight, (part_mean, part_low, part_high) in zip(weights, parts, strict=True):
        if part_mean:
            scale = weight / part_mean
            low += scale * part_low
            high += scale * part_high
    return Interval(mean, mean * low, mean * high)


def format_plan(plan: Sequence[ChunkPlan]) -> str:
    """Return the settings as text, such as ``small cc=8 p=1 pp=16``."""
    return ", ".join([f"{chunk.chunk} {format_parameters(chunk.parameters)}" for chunk in plan])


@lru_cache(maxsize=4096)
def format_parameters(parameters: Parameters) -> str:
    """Return a setting as text; cached, because there are few and they recur."""
    known = (("cc", parameters.concurrency), ("p", parameters.parallelism), ("pp", parameters.pipelining))
    return " ".join(f"{name}={value}" for name, value in known if value is not None)
