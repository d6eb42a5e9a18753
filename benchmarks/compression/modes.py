"""Send or fetch one file over a path in one of the compared modes: raw, packed by a codec, or by ``auto``."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.compression.bounds import compute_lower_bound_s
from benchmarks.compression.held_back import replace_packaged_history
from benchmarks.compression.packing import PackedStream
from benchmarks.compression.unlogged_copy import PackedReport, copy_packed
from tradewind.compression.codecs import CodecSetting, parse_setting
from tradewind.compression.history import CodecObservation, CompressionCase, History
from tradewind.compression.model import NetworkLine, Speeds
from tradewind.errors import TradewindError
from tradewind.transfer import Status
from tradewind_agent.compression.packing_choice import choose_packing
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import prepare_listed, run
from tradewind_agent.engine.options import EngineOptions

RAW, AUTO = "raw", "auto"
OPTIONS = EngineOptions(durable=False)


class TransferFailed(TradewindError):
    """A measured transfer did not finish."""


@dataclass(slots=True, kw_only=True)
class Cell:
    """One file on one path, in one direction.

    ``made`` : the packed stream of the file by each setting, ``tried`` : the speeds on its sample. ``took_s`` : the
    quickest transfer in each mode, by name.
    """

    content: str
    file: Path
    upload: bool
    mb_per_s: float
    line: NetworkLine
    case: CompressionCase
    made: Mapping[CodecSetting, PackedStream]
    tried: Mapping[CodecSetting, Speeds]
    took_s: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.file.name} {'up' if self.upload else 'down'} at {self.mb_per_s:g} MB/s"

    @property
    def options(self) -> CopyOptions:
        """The options of a user who knows the path."""
        return CopyOptions(bandwidth_bps=self.line.rate_bps, engine=OPTIONS)

    @property
    def fixed_s(self) -> dict[str, float]:
        """The times without ``auto``."""
        return {mode: took_s for mode, took_s in self.took_s.items() if mode != AUTO}

    def compute_least_s(self) -> dict[CodecSetting, float]:
        """Return the lower bound of each setting's time."""
        return {each: compute_lower_bound_s(made, self.mb_per_s, self.case.cores) for each, made in self.made.items()}

    def to_observations(self) -> list[CodecObservation]:
        """Return the observations that agents would report had they sent the file in every mode."""
        return [made.to_observation(setting, self.case) for setting, made in self.made.items()]


def run_transfer(cell: Cell, mode: str, *, url: str, served: Path, history: Callable[[], History]) -> float:
    """Transfer the file, check what came, and remove it; return the duration, s.

    Parameters
    ----------
    url, served : of the server, which has all files, and the folder that it serves.
    history : what ``auto`` may know.

    Raises
    ------
    TransferFailed
    """
    received = (served if cell.upload else cell.file.parent) / f"came-{cell.file.name}"
    source, destination = (
        (str(cell.file), f"{url}{received.name}") if cell.upload else (f"{url}{cell.file.name}", str(received))
    )
    listing = list_files([source], destination, options=OPTIONS)
    if mode == AUTO:
        took_s = _copy_by_auto(listing, cell, history())
    elif mode == RAW:
        took_s = _copy_by_engine(listing, cell)
    else:
        took_s = _require_duration_s(cell, copy_packed(listing, PackingMode(parse_setting(mode)), OPTIONS))
    size = received.stat().st_size if received.exists() else 0
    if size != cell.file.stat().st_size:
        raise TransferFailed(f"{cell.name} by {mode}: {size} bytes arrived of {cell.file.stat().st_size}")
    received.unlink()
    return took_s


def _require_duration_s(cell: Cell, report: CopyReport | PackedReport) -> float:
    cancelled = report.cancelled if isinstance(report, PackedReport) else report.status is Status.CANCELLED
    if cancelled:
        raise KeyboardInterrupt  # copies take it for a request to end them alone
    if not report.succeeded:
        raise TransferFailed(f"{cell.name}: {report.failures}")
    return report.duration_s


def _copy_by_engine(listing: Listing, cell: Cell) -> float:
    return _require_duration_s(cell, run(prepare_listed(listing, options=cell.options)))


def _copy_by_auto(listing: Listing, cell: Cell, history: History) -> float:
    """Transfer with a look at the file, before or on the way, which the other modes do without."""
    with replace_packaged_history(lambda: history):
        return _time_auto(listing, cell, history)


def _time_auto(listing: Listing, cell: Cell, history: History) -> float:
    started_s = time.perf_counter()
    chosen = choose_packing(listing, cell.options, None, history=history)
    looked_s = time.perf_counter() - started_s
    if chosen.advised:
        report = copy_packed(listing, PackingMode(None), OPTIONS, advised=chosen.advised, line_bps=chosen.line_bps)
        return looked_s + _require_duration_s(cell, report)
    return looked_s + _copy_by_engine(listing, cell)
