"""The plan and the result of a copy, as one line for the user and as a document for programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tradewind.energy.measured import EnergyReading
from tradewind.heuristics import compute_bits_per_joule, compute_throughput_per_joule
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.prediction import Interval, Prediction
from tradewind.recommendation import AnswerSource
from tradewind.record_document import list_known, to_document
from tradewind.sla.kinds import Sla
from tradewind.sla.outcome import NoVerdict, explain_no_verdict, format_target, is_met
from tradewind.transfer import ResourceUsage, Status, TransferRecord
from tradewind.units import compute_throughput_bps as mean_rate_bps
from tradewind.units import (
    format_bits_per_joule,
    format_bps,
    format_bytes,
    format_count,
    format_elapsed_seconds,
    format_joules,
    format_probability,
)
from tradewind_agent.copy.options import MAX_THROUGHPUT
from tradewind_agent.copy.reporting.bottleneck import Bottleneck, find_bottleneck, find_limit, has_reached_rate
from tradewind_agent.copy.reporting.energy_report import build_energy_split, explain_no_energy, format_energy
from tradewind_agent.copy.reporting.failures import Failure, format_failures, list_further_failures
from tradewind_agent.copy.reporting.omissions_report import build_omissions_document, describe_omissions
from tradewind_agent.copy.stage import EncodedBytes
from tradewind_agent.engine.remote.omissions import Omission
from tradewind_agent.engine.remote.path_selection import Excluded
from tradewind_agent.meters import CpuWork
from tradewind_agent.resources.applied import Enforced, Verdict
from tradewind_agent.session.planning import Plan
from tradewind_agent.tuning.ticks import Tick

if TYPE_CHECKING:
    from tradewind.wire.recommendations import RecommendResponse, WireSlaAnswer
    from tradewind_agent.copy.removal import Removal
    from tradewind_agent.grid.report import GridReport

LEAST_MEASURED_S = 1.0
"""A shorter copy, or one that moved less than a block a file, says nothing about the I/O block."""

_NOT_SHOWN = "has_default_basis"
"""Says how the basis was chosen, which a report does not; the basis itself is there."""

_NO_VERDICT = {
    NoVerdict.SHARE: "since it is a share of the best rate of the path, which this host does not know",
    NoVerdict.NOT_METERED: "since no end was metered",
    NoVerdict.ONE_END: "since one end alone was metered",
    NoVerdict.NO_BASE_POWER: "since the power without a transfer is not known",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """The outcome of a copy.

    ``bytes_moved`` : over the network in this run, without what was already there.
    ``bytes_by_servers`` : part of them that the servers have moved between them, not through this host.
    ``energy`` : one reading for each metered end; an absent one was not measured, it is never zero.
    ``sla`` : that the user requested; ``is_sla_met`` says whether it was met.
    ``work`` : duration and CPU time at this end, from which the CPU model's energy follows for any coefficients;
    ``other_work`` : the same of the other end, if that was metered.
    ``timeline`` : samples and decisions of a tuned transfer, tick by tick.
    ``limits`` : for each limit of this host's resources how it was enforced, or why it was not.
    ``can_resume`` : whether the same command, repeated after an interrupt, uses the parts that have moved.
    ``log`` : what became of the transfer's records, as the end of a sentence.
    ``left_out`` : what the sources hold and the copy did not move; ``accepted`` : the same with the user's consent.
    ``excluded`` : what the user's selection has left alone; ``None`` where all is selected.
    ``removal`` : what was removed at the destination; ``None`` where nothing was to be.
    ``grid`` : cost and carbon of the energy; ``None`` where nobody asked.
    """

    plan: Plan
    status: Status
    source: str
    destination: str
    path: Path
    bytes_moved: int
    files_done: int
    files_skipped: int
    failures: tuple[Failure, ...]
    duration_s: float
    energy: tuple[EnergyReading, ...]
    usage: ResourceUsage | None
    work: CpuWork | None
    other_work: CpuWork | None
    records: tuple[TransferRecord, ...]
    log: str
    sla: Sla = MAX_THROUGHPUT
    timeline: tuple[Tick, ...] = ()
    limits: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
    can_resume: bool = True
    left_out: tuple[Omission, ...] = ()
    accepted: tuple[Omission, ...] = ()
    excluded: Excluded | None = None
    removal: "Removal | None" = None
    encoded: EncodedBytes | None = None
    bytes_by_servers: int = 0
    grid: "GridReport | None" = None

    @property
    def is_complete(self) -> bool:
        """Whether the destination has everything that the sources hold, except what the user left out."""
        return self.succeeded and not self.left_out and (self.removal is None or self.removal.succeeded)

    @property
    def succeeded(self) -> bool:
        return self.status is Status.SUCCEEDED

    @property
    def throughput_bps(self) -> float:
        return mean_rate_bps(self.bytes_moved, self.duration_s) if self.duration_s > 0 else 0.0

    @property
    def energy_j(self) -> float | None:
        """Energy of all metered ends together, J; ``None`` if none was metered."""
        return sum(reading.total_j for reading in self.energy) if self.energy else None

    @property
    def is_sla_met(self) -> bool | None:
        """Whether the SLA was met; ``None`` if that is unknown, or the SLA has no target."""
        if not self.succeeded:
            return None
        return is_met(self.sla, throughput_bps=self.throughput_bps, duration_s=self.duration_s, energy=self.energy)

    @property
    def parameters(self) -> Parameters:
        return self.plan.parameters

    @property
    def bottleneck(self) -> Bottleneck | None:
        """What held the copy up at this end; ``None`` where nothing did, or too little was moved to say it."""
        used = self.records[0].parameters.io_block_bytes if self.records else self.parameters.io_block_bytes
        if self.duration_s < LEAST_MEASURED_S or self.bytes_moved < (used or 0) * self.files_done:
            return None
        predicted = self.plan.founded_prediction
        if has_reached_rate(self.throughput_bps, predicted and predicted.throughput_bps.mean, self.limits):
            return None
        return find_bottleneck(self.usage, used, self.work, find_limit(self.limits, "cores"))

    def list_further_failures(self) -> list[str]:
        """Return a line for each of the next failures after the first, which the closing line names."""
        return list_further_failures(self.failures)

    def format_line(self) -> str:
        """Format the closing line: the result next to the prediction, the energy and how it was measured."""
        files = format_count(self.files_done, "file")
        skipped = f" ({self.files_skipped} already there)" if self.files_skipped else ""
        if not self.files_done:
            # The rate of unusable parts says nothing about the setting.
            parts = f"finished no file, {format_bytes(self.bytes_moved)} of parts moved" if self.bytes_moved else ""
            done = (parts or "moved nothing") + skipped
        else:
            rate, elapsed = format_bps(self.throughput_bps), format_elapsed_seconds(self.duration_s)
            done = f"moved {format_bytes(self.bytes_moved)} in {files}{skipped} in {elapsed}: {rate}"
            done += _format_comparison(self.plan, self.throughput_bps)
            done += "".join(f"; {format_energy(reading, self.bytes_moved)}" for reading in self.energy)
            unmetered = explain_no_energy(self.bytes_by_servers, self.bytes_moved)
            done += "" if self.energy else f"; energy not measured{unmetered}"
            done += format_efficiency(self.throughput_bps, self.energy_j, self.duration_s)
            done += "" if self.bottleneck is None else f"; {self.bottleneck.format()}"
            done += self._format_verdict()
        again = "to resume" if self.can_resume else "to send unfinished files again"
        prefix = f"interrupted; run the same command again {again}; " if self.status is Status.CANCELLED else ""
        removed = "" if self.removal is None else self.removal.format_part()
        encoded = f"; {self.encoded.format_line()}" if self.encoded is not None and self.files_done else ""
        rest = f"{format_failures(self.failures)}{describe_omissions(self)}{removed}"
        grid = f"; {self.grid.format_line()}" if self.grid is not None else ""
        return f"{prefix}{done}{rest}; log {self.log}{encoded}{grid}"

    def _format_verdict(self) -> str:
        """Format whether the SLA was met, or why nobody can say; empty without a target."""
        if self.is_sla_met is not None:
            return f"; SLA {format_target(self.sla)}: {'met' if self.is_sla_met else 'missed'}"
        reason = explain_no_verdict(self.sla, self.energy, cancelled=not self.succeeded)
        words = _NO_VERDICT.get(reason)
        return f"; SLA {format_target(self.sla)}: not judged, {words}" if words else ""

    def build_document(self) -> dict[str, Any]:
        """Return the entire report, in the names and units of the wire."""
        return {
            "transfer_id": str(self.plan.transfer_id),
            "status": str(self.status),
            "source": self.source,
            "destination": self.destination,
            "bytes_moved": self.bytes_moved,
            "bytes_by_servers": self.bytes_by_servers,
            "files_done": self.files_done,
            "files_skipped": self.files_skipped,
            "files_failed": len(self.failures),
            "failures": [{"file": failure.file, "reason": failure.reason} for failure in self.failures],
            **build_omissions_document(self),
            **({} if self.removal is None else self.removal.build_document()),
            "duration_s": self.duration_s,
            "throughput_bps": self.throughput_bps,
            "energy_j": self.energy_j,
            **_compute_efficiency(self.throughput_bps, self.energy_j, self.duration_s),
            "energy": [_to_document(reading) for reading in self.energy],
            "energy_split": [build_energy_split(reading, self.bytes_moved) for reading in self.energy],
            "usage": _to_document(self.usage),
            "work": _to_document(self.work),
            "other_work": _to_document(self.other_work),
            "path": _to_document(self.path),
            "agreement": _build_sla_document(self.sla),
            "agreement_kept": self.is_sla_met,
            "parameters": self.parameters.list_known(),
            "bottleneck": _to_document(self.bottleneck),
            "plan": build_plan_document(self.plan),
            "records": [to_document(record) for record in self.records],
            "timeline": [tick.build_document() for tick in self.timeline],
            "resources": build_limits_document(self.limits),
            "log": self.log,
            "notes": list(self.notes),
            **({} if self.encoded is None else self.encoded.build_document()),
            **({} if self.grid is None else {"grid": self.grid.build_document()}),
        }


def build_limits_document(limits: Sequence[Verdict]) -> dict[str, Any]:
    """Return how each limit of this host's resources was enforced, or why it was not."""
    return {
        "enforced": [_to_document(verdict) for verdict in limits if isinstance(verdict, Enforced)],
        "advice": [_to_document(verdict) for verdict in limits if not isinstance(verdict, Enforced)],
    }


def build_plan_document(plan: Plan) -> dict[str, Any]:
    """Return a plan under its wire names."""
    return {
        "transfer_id": str(plan.transfer_id),
        "source": plan.source,
        "rationale": plan.rationale,
        "feasible": plan.feasible,
        "release": plan.answer.release if plan.answer else None,
        "parameters": plan.parameters.list_known(),
        "chunks": [
            {
                "chunk": str(chunk.chunk),
                "max_file_bytes": chunk.max_file_bytes,
                "parameters": chunk.parameters.list_known(),
            }
            for chunk in plan.chunks
        ],
        "predicted": _find_prediction_document(plan.predicted),
        "sla": plan.answer.sla.model_dump(mode="json", exclude_none=True) if plan.answer else None,
    }


def describe_plan(plan: Plan) -> str:
    """Describe a plan: a line a chunk, the prediction, the promised SLA with its price, and the reason."""
    lines = []
    for chunk in plan.chunks:
        end = "" if chunk.max_file_bytes is None else f" (up to {format_bytes(chunk.max_file_bytes)})"
        lines.append(f"{chunk.chunk}{end}: {format_settings(chunk.parameters)}")
    predicted = plan.founded_prediction
    if predicted is not None:
        lines.append(f"expect {_format_band(predicted.throughput_bps)}")
        if predicted.energy_j is not None:
            energy = predicted.energy_j
            lines[-1] += f", {format_joules(energy.mean)} ({format_joules(energy.low)} – {format_joules(energy.high)})"
            if plan.answer is not None:
                lines[-1] += f" of {plan.answer.sla.energy_basis} energy"
    if plan.feasible is False and plan.answer is not None and _has_goal(plan.answer):
        lines.append(
            "the service has no model of this path and cannot promise that the SLA is met"
            if plan.source in (AnswerSource.HEURISTIC, AnswerSource.NEIGHBOUR)
            else "the SLA cannot be met with the requested probability; this plan comes closest"
        )
    if plan.answer is not None and (promise := _format_promise(plan.answer.sla)):
        lines.append(promise)
    # The reason of a release names it already.
    is_named = plan.rationale.startswith(f"{plan.source} ")
    lines.append(plan.rationale if is_named else f"{plan.source}: {plan.rationale}")
    return "\n".join(lines)


def _format_promise(sla: "WireSlaAnswer") -> str:
    """Format the tier, the probability that its SLA is met, and the current price, as far as there are any."""
    parts = []
    if sla.tier is not None:
        parts.append(f"tier {sla.tier}")
        parts.append(f"met with a probability of {format_probability(sla.probability)}")
    if sla.price is not None:
        parts.append(f"price {sla.price.amount} {sla.price.currency} for this transfer, on {sla.price.basis} energy")
    return ", ".join(parts)


def _has_goal(answer: "RecommendResponse") -> bool:
    """Return whether the SLA can be missed; one that only maximises or minimises cannot."""
    return answer.sla.target is not None or answer.sla.fraction is not None


def format_settings(parameters: Parameters) -> str:
    """Format the known parameters, such as ``cc 4, p 1, pp 8``."""
    short = {"concurrency": "cc", "parallelism": "p", "pipelining": "pp"}
    return (
        ", ".join(f"{short.get(name, name)} {value}" for name, value in parameters.list_known().items()) or "defaults"
    )


def _format_band(rate: Interval) -> str:
    return f"{format_bps(rate.mean)} ({format_bps(rate.low)} – {format_bps(rate.high)})"


def _format_comparison(plan: Plan, reached_bps: float) -> str:
    predicted = plan.founded_prediction
    if predicted is None:
        return ""
    expected_bps = predicted.throughput_bps.mean
    share = f"{100 * reached_bps / expected_bps:.0f} % of " if expected_bps > 0 else ""
    return f", {share}the predicted {_format_band(predicted.throughput_bps)}, {plan.source}"


def _find_prediction_document(prediction: Prediction | None) -> dict[str, Any] | None:
    if prediction is None:
        return None
    document: dict[str, Any] = {
        name: None if band is None else band._asdict() for name, band in prediction._asdict().items()
    }
    energy_j, power_w = prediction.energy_j, prediction.power_w
    duration_s = energy_j.mean / power_w.mean if energy_j and power_w and power_w.mean else 0.0
    return document | _compute_efficiency(
        prediction.throughput_bps.mean, energy_j.mean if energy_j else None, duration_s
    )


def _compute_efficiency(rate_bps: float, energy_j: float | None, duration_s: float) -> dict[str, float | None]:
    """Return both metrics of energy efficiency, which rank differently; ``None`` without a known energy above 0."""
    if energy_j is None or not energy_j > 0 or not duration_s > 0:
        return {"bits_per_joule": None, "throughput_per_joule": None}
    return {
        "bits_per_joule": compute_bits_per_joule(rate_bps, energy_j / duration_s),
        "throughput_per_joule": compute_throughput_per_joule(rate_bps, energy_j),
    }


def format_efficiency(rate_bps: float, energy_j: float | None, duration_s: float) -> str:
    """Format bits per joule as a part of the closing line; empty if no energy is known."""
    efficiency = _compute_efficiency(rate_bps, energy_j, duration_s)["bits_per_joule"]
    return "" if efficiency is None else f"; {format_bits_per_joule(efficiency)}"


def _build_sla_document(sla: Sla | None) -> dict[str, Any] | None:
    return None if sla is None else {name: value for name, value in list_known(sla).items() if name != _NOT_SHOWN}


def _to_document(value: Any) -> dict[str, Any] | None:
    """Return the known fields of a flat value object."""
    return None if value is None else list_known(value)
