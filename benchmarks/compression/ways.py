"""One file sent or fetched over a path in one of the ways that are compared: raw, packed by a codec, or by ``auto``."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tradewind.compression.codecs import Setting, parse_setting
from tradewind.compression.history import Case, History, Observation
from tradewind.compression.model import Line, Speeds
from tradewind_agent.compression.choosing import choose
from tradewind_agent.compression.copying import PackedCopy, copy_packed
from tradewind_agent.compression.planning import Wish
from tradewind_agent.compression.sampling import Sample, measured
from tradewind_agent.compression.wishes import PackedOutcome
from tradewind_agent.copy_listing import Listing, list_files
from tradewind_agent.copy_options import CopyOptions
from tradewind_agent.copying import prepare_listed, run
from tradewind_agent.engine.options import EngineOptions

RAW, AUTO = "raw", "auto"
OPTIONS = EngineOptions(durable=False)


@dataclass(slots=True, kw_only=True)
class Cell:
    """One file on one path, one way.

    ``took_s`` : of the quickest of its transfers in each way, by its name. ``seen`` : what settings made of the file.
    """

    content: str
    file: Path
    upload: bool
    mb_per_s: float
    line: Line
    case: Case
    sample: Sample
    took_s: dict[str, float] = field(default_factory=dict)
    seen: dict[Setting, Observation] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.file.name} {'up' if self.upload else 'down'} at {self.mb_per_s:g} MB/s"

    @property
    def options(self) -> CopyOptions:
        """What a user tells who knows the path."""
        return CopyOptions(bandwidth_bps=self.line.rate_bps, engine=OPTIONS)


def transfer(cell: Cell, way: str, *, url: str, served: Path, history: Callable[[], History]) -> None:
    """Do it, check what came, remove it, and keep the time.

    Parameters
    ----------
    url, served : of the server, which has all files, and the folder that it serves.
    history : that ``auto`` may know.
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
        took_s = _packed(listing, cell, parse_setting(way))
    assert came.stat().st_size == cell.file.stat().st_size, f"{cell.name} by {way}"
    came.unlink()
    cell.took_s[way] = min(took_s, cell.took_s.get(way, took_s))


def _by_engine(listing: Listing, cell: Cell) -> float:
    report = run(prepare_listed(listing, options=cell.options))
    assert report.succeeded, report.failures
    return report.duration_s


def _packed(listing: Listing, cell: Cell, setting: Setting) -> float:
    outcomes: list[PackedOutcome] = []
    report = copy_packed(listing, Wish(setting), OPTIONS, on_outcome=outcomes.append)
    assert report.succeeded, report.failures
    effort = outcomes[0].work.efforts.get(setting)
    if effort is not None:
        compress_bps = effort.compress_bps * cell.case.cores_for(setting)
        speeds = Speeds(effort.ratio, compress_bps, measured(cell.sample.blocks, setting).decompress_bps)
        cell.seen[setting] = Observation(case=cell.case, setting=setting, speeds=speeds)
    return report.duration_s


def _by_auto(listing: Listing, cell: Cell, history: History) -> float:
    """With the look at the file, which the others do without."""
    begun_s = time.perf_counter()
    chosen = choose(listing, cell.options, None, history=history)
    looked_s = time.perf_counter() - begun_s
    if not chosen.advised:
        return looked_s + _by_engine(listing, cell)
    copy = PackedCopy(listing, Wish(None), OPTIONS, advised=chosen.advised, line_bps=chosen.line_bps)
    report = copy.run()
    assert report.succeeded, report.failures
    return looked_s + report.duration_s
