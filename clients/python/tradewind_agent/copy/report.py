"""What a copy was going to do and what it came to, in one line for people and as a document for programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tradewind.energy.measured import EnergyReading
from tradewind.heuristics import bits_per_joule, throughput_per_joule
from tradewind.mobile.io_request import advised_io_block_bytes
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.prediction import Interval, Prediction
from tradewind.recommendation import AnswerSource
from tradewind.sla.kinds import Sla
from tradewind.sla.outcome import kept, told
from tradewind.transfer import Status, TransferRecord, Usage
from tradewind.units import KIB, MIB, format_bits_per_joule, format_bps, format_bytes, format_count, format_joules
from tradewind.units import throughput_bps as mean_rate_bps
from tradewind.wire.recommendations import RecommendResponse, WireSlaAnswer
from tradewind.wire.records import WireRecord
from tradewind_agent.copy.energy_report import energy_split, format_energy
from tradewind_agent.copy.omissions_report import describe_omissions, omissions_document
from tradewind_agent.copy.options import MAX_THROUGHPUT
from tradewind_agent.engine.remote.omissions import Omission
from tradewind_agent.meters import CpuWork
from tradewind_agent.resources.applied import Enforced, Verdict
from tradewind_agent.session.planning import Plan
from tradewind_agent.tuning.ticks import Tick

LEAST_MEASURED_S = 1.0
"""A copy that took less, or moved less than a block a file, says nothing of the block."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be moved, and why in one line."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """The outcome of a copy.

    ``bytes_moved`` : on the network now, without what was there already.
    ``energy`` : one reading an end that was metered; an absent one was not measured, never zero.
    ``agreement`` : what was asked for; whether it was kept is told where it has a target.
    ``work`` : duration and CPU time at this end, from which the CPU model's energy follows for any coefficients;
    ``other_work`` at the other end, where that was metered.
    ``timeline`` : samples and decisions, tick by tick, of a transfer that was tuned while it ran.
    ``limits`` : of this host's resources, what held each or why nothing did.
    ``goes_on`` : whether the same command, given again after an interrupt, uses the parts that have moved.
    ``log`` : what became of the transfer's records: uploaded, spooled, or nothing to log.
    ``left_out`` : what the sources hold and the copy did not move; ``accepted`` : of these, with the user's consent.
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
    usage: Usage | None
    work: CpuWork | None
    other_work: CpuWork | None
    records: tuple[TransferRecord, ...]
    log: str
    agreement: Sla = MAX_THROUGHPUT
    timeline: tuple[Tick, ...] = ()
    limits: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
    goes_on: bool = True
    left_out: tuple[Omission, ...] = ()
    accepted: tuple[Omission, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything that the sources hold is at the destination, but for what the user left out."""
        return self.succeeded and not self.left_out

    @property
    def succeeded(self) -> bool:
        return self.status is Status.SUCCEEDED

    @property
    def throughput_bps(self) -> float:
        return mean_rate_bps(self.bytes_moved, self.duration_s) if self.duration_s > 0 else 0.0

    @property
    def energy_j(self) -> float | None:
        """Energy of all metered ends together; ``None`` where none was."""
        return sum(reading.total_j for reading in self.energy) if self.energy else None

    @property
    def is_sla_met(self) -> bool | None:
        """Whether the agreement was kept; ``None`` where that cannot be told."""
        if not self.succeeded:
            return None
        return kept(self.agreement, throughput_bps=self.throughput_bps, duration_s=self.duration_s, energy=self.energy)

    @property
    def parameters(self) -> Parameters:
        return self.plan.parameters

    @property
    def advised_io_block_bytes(self) -> int | None:
        """The I/O block to try next time; ``None`` unless the storage was what the copy waited for."""
        used = self.records[0].parameters.io_block_bytes if self.records else self.parameters.io_block_bytes
        if used is None or self.duration_s < LEAST_MEASURED_S or self.bytes_moved < used * self.files_done:
            return None
        return advised_io_block_bytes(used, None if self.usage is None else self.usage.disk)

    def line(self) -> str:
        """The closing line: what it got, against the prediction, the energy and how it was measured."""
        files = format_count(self.files_done, "file")
        skipped = f" ({self.files_skipped} already there)" if self.files_skipped else ""
        if not self.files_done:
            # A rate of parts that nobody can use says nothing of the setting.
            parts = f"finished no file, {format_bytes(self.bytes_moved)} of parts moved" if self.bytes_moved else ""
            done = (parts or "moved nothing") + skipped
        else:
            rate = format_bps(self.throughput_bps)
            done = f"moved {format_bytes(self.bytes_moved)} in {files}{skipped} in {self.duration_s:.1f} s: {rate}"
            done += _against(self.plan, self.throughput_bps)
            done += "".join(f"; {format_energy(each, self.bytes_moved)}" for each in self.energy)
            done += "" if self.energy else "; energy not measured"
            done += format_efficiency(self.throughput_bps, self.energy_j, self.duration_s)
            done += _storage(self)
            if self.is_sla_met is not None:
                done += f"; agreed {told(self.agreement)}: {'kept' if self.is_sla_met else 'not kept'}"
        again = "to go on" if self.goes_on else "to send unfinished files anew"
        begin = f"interrupted; run the same command again {again}; " if self.status is Status.CANCELLED else ""
        return f"{begin}{done}{_failed(self.failures)}{describe_omissions(self)}; log {self.log}"

    def document(self) -> dict[str, Any]:
        """All of it, in the names and units of the wire."""
        return {
            "transfer_id": str(self.plan.transfer_id),
            "status": str(self.status),
            "source": self.source,
            "destination": self.destination,
            "bytes_moved": self.bytes_moved,
            "files_done": self.files_done,
            "files_skipped": self.files_skipped,
            "files_failed": len(self.failures),
            "failures": [{"file": failure.file, "reason": failure.reason} for failure in self.failures],
            **omissions_document(self),
            "duration_s": self.duration_s,
            "throughput_bps": self.throughput_bps,
            "energy_j": self.energy_j,
            **_efficiency(self.throughput_bps, self.energy_j, self.duration_s),
            "energy": [_document(reading) for reading in self.energy],
            "energy_split": [energy_split(reading, self.bytes_moved) for reading in self.energy],
            "usage": _document(self.usage),
            "work": _document(self.work),
            "other_work": _document(self.other_work),
            "path": _document(self.path),
            "agreement": _document(self.agreement),
            "agreement_kept": self.is_sla_met,
            "parameters": self.parameters.known(),
            "advised_io_block_bytes": self.advised_io_block_bytes,
            "plan": plan_document(self.plan),
            "records": [WireRecord.of(record).model_dump(mode="json", exclude_none=True) for record in self.records],
            "timeline": [tick.document() for tick in self.timeline],
            "resources": limits_document(self.limits),
            "log": self.log,
            "notes": list(self.notes),
        }


def _storage(report: CopyReport) -> str:
    """That the disk was the bottleneck, and what to try; empty where it was not."""
    advised = report.advised_io_block_bytes
    if advised is None or report.usage is None or report.usage.disk is None:
        return ""
    return f"; the disk was busy {report.usage.disk:.0%} of the time, try --io-block {_size(advised)}"


def _size(size_bytes: int) -> str:
    """As an option takes it."""
    return f"{size_bytes // KIB}KiB" if size_bytes % MIB else f"{size_bytes // MIB}MiB"


def _failed(failures: Sequence[Failure]) -> str:
    if not failures:
        return ""
    return f"; {len(failures)} failed, first {failures[0].file}: {failures[0].reason}"


def limits_document(limits: Sequence[Verdict]) -> dict[str, Any]:
    """What held each limit of this host's resources, or why nothing did."""
    return {
        "enforced": [_document(each) for each in limits if isinstance(each, Enforced)],
        "advice": [_document(each) for each in limits if not isinstance(each, Enforced)],
    }


def plan_document(plan: Plan) -> dict[str, Any]:
    """A plan in the names of the wire."""
    return {
        "transfer_id": str(plan.transfer_id),
        "source": plan.source,
        "rationale": plan.rationale,
        "feasible": plan.feasible,
        "release": plan.answer.release if plan.answer else None,
        "parameters": plan.parameters.known(),
        "chunks": [
            {
                "chunk": str(chunk.chunk),
                "max_file_bytes": chunk.max_file_bytes,
                "parameters": chunk.parameters.known(),
            }
            for chunk in plan.chunks
        ],
        "predicted": _predicted(plan.predicted),
        "sla": plan.answer.sla.model_dump(mode="json", exclude_none=True) if plan.answer else None,
    }


def describe(plan: Plan) -> str:
    """A plan for people: a line a chunk, the prediction, what is promised and at which price, the reason."""
    lines = []
    for chunk in plan.chunks:
        end = "" if chunk.max_file_bytes is None else f" (up to {format_bytes(chunk.max_file_bytes)})"
        lines.append(f"{chunk.chunk}{end}: {format_settings(chunk.parameters)}")
    if plan.predicted is not None:
        lines.append(f"expect {_rate_band(plan.predicted.throughput_bps)}")
        if plan.predicted.energy_j is not None:
            energy = plan.predicted.energy_j
            lines[-1] += f", {format_joules(energy.mean)} ({format_joules(energy.low)} – {format_joules(energy.high)})"
    if plan.feasible is False and plan.answer is not None and _has_goal(plan.answer):
        lines.append(
            "without a model of this very path nothing promises that the agreement is kept"
            if plan.source in (AnswerSource.HEURISTIC, AnswerSource.NEIGHBOUR)
            else "the agreement cannot be kept with the probability asked for; this comes closest"
        )
    if plan.answer is not None and (promise := _promise(plan.answer.sla)):
        lines.append(promise)
    lines.append(f"{plan.source}: {plan.rationale}")
    return "\n".join(lines)


def _promise(sla: WireSlaAnswer) -> str:
    """The tier, the probability of its agreement and the price in force, as far as there are any."""
    words = []
    if sla.tier is not None:
        words.append(f"tier {sla.tier}")
        words.append(f"kept with a probability of {sla.probability:.0%}")
    if sla.price is not None:
        words.append(f"price {sla.price.amount} {sla.price.currency} on {sla.price.basis} energy")
    return ", ".join(words)


def _has_goal(answer: RecommendResponse) -> bool:
    """Whether the agreement can be missed; one for the most or the least cannot."""
    return answer.sla.target is not None or answer.sla.fraction is not None


def format_settings(parameters: Parameters) -> str:
    """What is set, such as ``cc 4, p 1, pp 8``."""
    short = {"concurrency": "cc", "parallelism": "p", "pipelining": "pp"}
    return ", ".join(f"{short.get(name, name)} {value}" for name, value in parameters.known().items()) or "defaults"


def _rate_band(rate: Interval) -> str:
    return f"{format_bps(rate.mean)} ({format_bps(rate.low)} – {format_bps(rate.high)})"


def _against(plan: Plan, reached_bps: float) -> str:
    if plan.predicted is None:
        return ""
    expected_bps = plan.predicted.throughput_bps.mean
    share = f"{100 * reached_bps / expected_bps:.0f} % of " if expected_bps > 0 else ""
    return f", {share}the predicted {_rate_band(plan.predicted.throughput_bps)}, {plan.source}"


def _predicted(prediction: Prediction | None) -> dict[str, Any] | None:
    if prediction is None:
        return None
    told: dict[str, Any] = {
        name: None if band is None else band._asdict() for name, band in prediction._asdict().items()
    }
    energy_j, power_w = prediction.energy_j, prediction.power_w
    duration_s = energy_j.mean / power_w.mean if energy_j and power_w and power_w.mean else 0.0
    return told | _efficiency(prediction.throughput_bps.mean, energy_j.mean if energy_j else None, duration_s)


def _efficiency(rate_bps: float, energy_j: float | None, duration_s: float) -> dict[str, float | None]:
    """Both metrics of energy efficiency, which rank differently; ``None`` where no energy above 0 is known."""
    if energy_j is None or not energy_j > 0 or not duration_s > 0:
        return {"bits_per_joule": None, "throughput_per_joule": None}
    return {
        "bits_per_joule": bits_per_joule(rate_bps, energy_j / duration_s),
        "throughput_per_joule": throughput_per_joule(rate_bps, energy_j),
    }


def format_efficiency(rate_bps: float, energy_j: float | None, duration_s: float) -> str:
    """Bits a joule as a part of the closing line; empty where no energy is known."""
    told = _efficiency(rate_bps, energy_j, duration_s)["bits_per_joule"]
    return "" if told is None else f"; {format_bits_per_joule(told)}"


def _document(value: Any) -> dict[str, Any] | None:
    """A flat value object without what is unknown."""
    if value is None:
        return None
    fields = {name: getattr(value, name) for name in value.__slots__}
    return {name: field for name, field in fields.items() if field is not None}
