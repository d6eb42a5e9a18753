"""The report of a wrapped tool: settings and result, as one line and as a JSON document."""

import shlex
from dataclasses import asdict, dataclass
from typing import Any

from tradewind.energy.measured import EnergyReading
from tradewind.parameters import Parameters
from tradewind.record_document import to_document
from tradewind.transfer import Mover, ResourceUsage, Status, TransferRecord
from tradewind.units import compute_throughput_bps, format_bps, format_bytes, format_elapsed_seconds, format_joules
from tradewind_agent.copy.reporting.report import build_limits_document, build_plan_document, format_efficiency
from tradewind_agent.meters import CpuWork
from tradewind_agent.movers.port import Command, ToolResult
from tradewind_agent.movers.wrap.restarts import Restart
from tradewind_agent.resources.applied import Verdict
from tradewind_agent.session.planning import Plan
from tradewind_agent.tuning.ticks import Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapReport:
    """The outcome of a wrapped tool.

    ``result`` : from the tool's own output; ``None`` where it says nothing, and then nothing is logged.
    ``current_parameters`` : settings it ran under; ``by_hand`` of them those by the user's own flags.
    ``limits`` : of this host's resources, what held each or why nothing did.
    ``not_expressible`` : what of the recommendation it has no flag for; ``live`` : what can change while it runs.
    ``restarts`` : interruptions of the tool, to continue with other settings.
    """

    mover: Mover
    plan: Plan
    current_parameters: Parameters
    by_hand: Parameters
    not_expressible: tuple[str, ...]
    live: str
    commands: tuple[Command, ...]
    exit_code: int
    status: Status
    source: str
    destination: str
    result: ToolResult | None
    duration_s: float
    energy: tuple[EnergyReading, ...]
    usage: ResourceUsage | None
    work: CpuWork | None
    records: tuple[TransferRecord, ...]
    timeline: tuple[Tick, ...]
    limits: tuple[Verdict, ...]
    log: str
    notes: tuple[str, ...]
    restarts: tuple[Restart, ...] = ()

    @property
    def throughput_bps(self) -> float | None:
        if self.result is None or self.duration_s <= 0:
            return None
        return compute_throughput_bps(self.result.bytes_moved, self.duration_s)

    def format_line(self) -> str:
        """Return the closing line: settings, what it got against the prediction, energy, and what became of the log."""
        settings = (
            ", ".join(f"{name} {value}" for name, value in self.current_parameters.list_known().items())
            or "its own settings"
        )
        ended = "" if self.exit_code == 0 else f"; exit code {self.exit_code}"
        count = len(self.restarts)
        restarts = f"; restarted {'once' if count == 1 else f'{count} times'} for other settings" if count else ""
        return f"{self.mover.name} with {settings}: {self._format_moved()}{restarts}{ended}; log {self.log}"

    def build_document(self) -> dict[str, Any]:
        """Return all of it, in the names and units of the wire."""
        return {
            "transfer_id": str(self.plan.transfer_id),
            "mover": asdict(self.mover),
            "status": str(self.status),
            "exit_code": self.exit_code,
            "commands": [list(command.words) for command in self.commands],
            "settings": dict(self.commands[0].settings) if self.commands else {},
            "source": self.source,
            "destination": self.destination,
            "parameters": self.current_parameters.list_known(),
            "by_hand": self.by_hand.list_known(),
            "not_expressible": list(self.not_expressible),
            "live": self.live,
            **(asdict(self.result) if self.result else {}),
            "duration_s": self.duration_s,
            "throughput_bps": self.throughput_bps,
            "energy": [asdict(reading) for reading in self.energy],
            "usage": asdict(self.usage) if self.usage else None,
            "work": asdict(self.work) if self.work else None,
            "plan": build_plan_document(self.plan),
            "records": [to_document(record) for record in self.records],
            "resources": build_limits_document(self.limits),
            "restarts": [restart.build_document() for restart in self.restarts],
            "timeline": [tick.build_document() for tick in self.timeline],
            "log": self.log,
            "notes": list(self.notes),
        }

    def _format_moved(self) -> str:
        result, rate = self.result, self.throughput_bps
        if result is None or rate is None:
            return f"{format_elapsed_seconds(self.duration_s)}; it does not tell what it moved"
        files = f"{result.files_done} {'file' if result.files_done == 1 else 'files'}"
        failed = f", {result.files_failed} failed" if result.files_failed else ""
        elapsed = format_elapsed_seconds(self.duration_s)
        line = f"{format_bytes(result.bytes_moved)} in {files}{failed} in {elapsed}: {format_bps(rate)}"
        if (predicted := self.plan.founded_prediction) is not None:
            line += f", predicted {format_bps(predicted.throughput_bps.mean)} ({self.plan.source})"
        line += "".join(
            f"; {format_joules(reading.total_j)} ({reading.method}, {reading.quality})" for reading in self.energy
        )
        energy_j = sum(reading.total_j for reading in self.energy) if self.energy else None
        return line + format_efficiency(rate, energy_j, self.duration_s)


_BYTES_FROM = 0xDC80


def format_command(command: Command) -> str:
    """Return a command as it could be typed, and what it is given by a file."""
    settings = "".join(f"\nwith {name} = {value} in its configuration" for name, value in command.settings.items())
    return " ".join(map(_quote, command.words)) + settings


def _quote(word: str) -> str:
    """Return a word as a shell reads it, on one line: control characters as bash's ``$'…'`` has them."""
    if word.isprintable():
        return shlex.quote(word)
    literal = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{''.join(each if each.isprintable() else _escape(each) for each in literal)}'"


def _escape(character: str) -> str:
    code = ord(character)
    is_byte = _BYTES_FROM <= code < _BYTES_FROM + 0x80  # of a name that is not UTF-8, as os.fsdecode gives it
    return f"\\x{code - _BYTES_FROM + 0x80:02x}" if is_byte else f"\\U{code:08x}"
