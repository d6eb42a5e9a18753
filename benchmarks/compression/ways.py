"""One file sent or fetched over a path in one of the ways that are compared: raw, packed by a codec, or by ``auto``."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.compression.bounds import least_s
from benchmarks.compression.packing import Made
from tradewind.compression.codecs import CodecSetting, parse_setting
from tradewind.compression.history import CodecObservation, CompressionCase, History
from tradewind.compression.model import NetworkLine, Speeds
from tradewind.errors import TradewindError
from tradewind.transfer import Status
from tradewind_agent.compression.packed.connection_pool import ConnectionPool
from tradewind_agent.compression.packed.report import PackedReport
from tradewind_agent.compression.packed.run import PackedCopy, copy_packed
from tradewind_agent.compression.packing_choice import choose_packing
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.report import CopyReport
from tradewind_agent.copy.run import prepare_listed, run
from tradewind_agent.engine.options import EngineOptions

RAW, AUTO = "raw", "auto"
OPTIONS = EngineOptions(durable=False)


class TransferFailed(TradewindError):
    """A transfer that was to be measured did not come to its end."""


@dataclass(slots=True, kw_only=True)
class Cell:
    """One file on one path, one way.

    ``made`` : what each setting makes of the file, ``tried`` of its sample.
    ``took_s`` : of the quickest of its transfers in each way, by name.
    """

    content: str
    file: Path
    upload: bool
    mb_per_s: float
    line: NetworkLine
    case: CompressionCase
    made: Mapping[CodecSetting, Made]
    tried: Mapping[CodecSetting, Speeds]
    took_s: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.file.name} {'up' if self.upload else 'down'} at {self.mb_per_s:g} MB/s"

    @property
    def options(self) -> CopyOptions:
        """What a user tells who knows the path."""
        return CopyOptions(bandwidth_bps=self.line.rate_bps, engine=OPTIONS)

    @property
    def fixed_s(self) -> dict[str, float]:
        """Without ``auto``."""
        return {way: took_s for way, took_s in self.took_s.items() if way != AUTO}

    def least_s(self) -> dict[CodecSetting, float]:
        """What each setting takes at least."""
        return {each: least_s(made, self.mb_per_s, self.case.cores) for each, made in self.made.items()}

    def seen(self) -> list[CodecObservation]:
        """What agents would tell of the file, had they sent it in every way."""
        return [made.seen(setting, self.case) for setting, made in self.made.items()]


def transfer(cell: Cell, way: str, *, url: str, served: Path, history: Callable[[], History]) -> float:
    """Do it, check what came, remove it; its duration, s.

    Parameters
    ----------
    url, served : of the server, which has all files, and the folder that it serves.
    history : that ``auto`` may know.

    Raises
    ------
    TransferFailed
    """
    came = (served if cell.upload else cell.file.parent) / f"came-{cell.file.name}"
    source, destination = (
        (str(cell.file), f"{url}{came.name}") if cell.upload else (f"{url}{cell.file.name}", str(came))
    )
    listing = list_files([source], destination, options=OPTIONS)
    if way == AUTO:
        took_s = _by_auto(listing, cell, history())
    elif way == RAW:
        took_s = _by_engine(listing, cell)
    else:
        took_s = _took_s(cell, copy_packed(listing, PackingMode(parse_setting(way)), OPTIONS))
    size = came.stat().st_size if came.exists() else 0
    if size != cell.file.stat().st_size:
        raise TransferFailed(f"{cell.name} by {way}: {size} bytes came of {cell.file.stat().st_size}")
    came.unlink()
    return took_s


def _took_s(cell: Cell, report: CopyReport | PackedReport) -> float:
    cancelled = report.cancelled if isinstance(report, PackedReport) else report.status is Status.CANCELLED
    if cancelled:
        raise KeyboardInterrupt  # which copies take for a wish to end them alone
    if not report.succeeded:
        raise TransferFailed(f"{cell.name}: {report.failures}")
    return report.duration_s


def _by_engine(listing: Listing, cell: Cell) -> float:
    return _took_s(cell, run(prepare_listed(listing, options=cell.options)))


def _by_auto(listing: Listing, cell: Cell, history: History) -> float:
    """With the look at the file, which the others do without."""
    begun_s = time.perf_counter()
    with closing(ConnectionPool()) as connections:
        chosen = choose_packing(listing, cell.options, None, connections, history=history)
        looked_s = time.perf_counter() - begun_s
        if chosen.advised:
            copy = PackedCopy(
                listing,
                PackingMode(None),
                OPTIONS,
                advised=chosen.advised,
                line_bps=chosen.line_bps,
                connections=connections,
            )
            return looked_s + _took_s(cell, copy.run())
    return looked_s + _by_engine(listing, cell)
