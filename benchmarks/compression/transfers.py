"""The choice on real files and rate-limited sockets, up and down, against every candidate that could be the best."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import ClassVar, NamedTuple

from benchmarks.compression import bounds
from benchmarks.compression.ends import folder_for, processors_of_ends, running_on
from benchmarks.compression.files import KINDS, content
from benchmarks.compression.judging import GZIP_6, chosen, without
from benchmarks.compression.kept import Kept
from benchmarks.compression.packing import Made, made
from benchmarks.compression.slow_path import slow_path
from benchmarks.compression.ways import AUTO, RAW, Cell, TransferFailed, transfer
from benchmarks.wan.runs import Row
from tradewind.compression.codecs import CodecSetting, candidate_settings, parse_setting
from tradewind.compression.model import NetworkLine, Speeds
from tradewind.compression.probe import FittedLine
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.compression.codecs import available_codecs
from tradewind_agent.compression.packed.path_probe import probe_download_line, probe_upload_line
from tradewind_agent.compression.planning import make_case
from tradewind_agent.compression.sampling import FileSample, sample_file
from tradewind_agent.compression.trials import try_setting


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is transferred.

    Attributes
    ----------
    rates_mb_per_s : of the paths. The fast ones come first, where it matters most how fast codecs are: the machine is
        as it was when that was measured.
    settings : the candidates by name; all that this machine has where none is named.
    rounds : transfers of each file in each way, the quicker of which counts: other work of the machine only ever slows.
    """

    FULL: ClassVar["Extent"]
    QUICK: ClassVar["Extent"]
    SMOKE: ClassVar["Extent"]

    rates_mb_per_s: Sequence[float]
    sizes_bytes: Sequence[int]
    contents: Sequence[str]
    settings: Sequence[str] = ()
    rounds: int = 2

    def candidates(self) -> Sequence[CodecSetting]:
        """Return the settings that are compared."""
        return tuple(map(parse_setting, self.settings)) or candidate_settings(available_codecs())


Extent.FULL = Extent((20.0, 5.0, 2.0, 0.5), (12_000_000, 1_000_000), tuple(KINDS))
Extent.QUICK = Extent((20.0, 2.0), (4_000_000,), tuple(KINDS), ("gzip:1", "gzip:6", "xz:0", "zstd:3", "lz4:1"))
Extent.SMOKE = Extent((20.0,), (200_000,), ("log", "random"), ("gzip:1", "gzip:6", "zstd:3"), rounds=1)

CONTENDERS_AT_ONCE = 2
"""Of a cell, until it is looked again who may yet be the best."""

SEED = 101
"""Of the files; not that of those that the packaged measurements were made on."""


class Packed(NamedTuple):
    """A file, and what each setting makes of it."""

    content: str
    file: Path
    made: Mapping[CodecSetting, Made]


class Looked(NamedTuple):
    """What a sample tells of a file, and what each setting makes of that."""

    sample: FileSample
    tried: Mapping[CodecSetting, Speeds]


def transferred(otherwise: Path, kept: Kept, extent: Extent, *, seed: int) -> list[Cell]:
    """All cells, transferred in a folder of memory where there is room. ``otherwise`` : see `folder_for`."""
    with folder_for(2 * len(extent.contents) * sum(extent.sizes_bytes), otherwise) as folder:
        return transferred_in(folder, kept, extent, seed=seed)


def transferred_in(folder: Path, kept: Kept, extent: Extent, *, seed: int) -> list[Cell]:
    """All cells, each with transfers in all ways that could be the best, between two ends of half a machine each.

    On each path files, directions and ways take turns in an order drawn by lot.
    """
    served = folder / "served"
    served.mkdir()
    settings = extent.candidates()
    ours, theirs = processors_of_ends()
    with running_on(ours):
        files = [
            _packed(*named, settings, kept)
            for size in extent.sizes_bytes
            for named in _files(folder, served, extent.contents, size)
        ]
    cells: list[Cell] = []
    with server(served, theirs) as port:
        for rate in extent.rates_mb_per_s:
            with slow_path(port, 1e6 * rate) as url, running_on(ours):
                here = _cells(files, rate, url, kept)
                cells += here
                lot = Random(f"{seed} {rate}")
                turns = Turns(cells=here, kept=kept, url=url, served=served, lot=lot, rounds=extent.rounds)
                turns.go({cell.name: [RAW, AUTO, GZIP_6, str(chosen(cell, here).best.setting or RAW)] for cell in here})
                while wanted := {cell.name: ways for cell in here if (ways := _contenders(cell))}:
                    turns.go(wanted)
    return cells


def _contenders(cell: Cell) -> list[str]:
    return list(map(str, bounds.contenders(cell.least_s(), cell.fixed_s, CONTENDERS_AT_ONCE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Transfers of cells over one path, in an order drawn by lot, anew each round."""

    cells: Sequence[Cell]
    kept: Kept
    url: str
    served: Path
    lot: Random
    rounds: int

    def go(self, ways: Mapping[str, Sequence[str]]) -> None:
        """Transfer each cell in the ways under its name."""
        for number in range(1, self.rounds + 1):
            wanted = [(cell, way) for cell in self.cells for way in dict.fromkeys(ways.get(cell.name, ()))]
            self.lot.shuffle(wanted)
            for cell, way in wanted:
                what = f"{cell.name} by {way}, {number} of {self.rounds}"
                row = self.kept.moved(what, partial(self._transfer, cell, way))
                cell.took_s[way] = min(row["took_s"], cell.took_s.get(way, row["took_s"]))
            sys.stderr.write(f"{self.cells[0].mb_per_s:g} MB/s, round {number}: {len(wanted)} transfers\n")

    def _transfer(self, cell: Cell, way: str) -> Row:
        history = partial(without, cell, self.cells)
        return {"took_s": transfer(cell, way, url=self.url, served=self.served, history=history)}


def _files(folder: Path, served: Path, contents: Sequence[str], size_bytes: int) -> Iterator[tuple[str, Path]]:
    """One of each content, here and at the server."""
    for name in contents:
        data = content(name, size_bytes, SEED)
        for place in (folder, served):
            (place / f"{name}-{size_bytes}").write_bytes(data)
        yield name, folder / f"{name}-{size_bytes}"


def _packed(name: str, file: Path, settings: Sequence[CodecSetting], kept: Kept) -> Packed:
    found = {}
    for each in settings:
        found[each] = Made.read(kept.packed(f"{file.name} packed by {each}", partial(_made, file, each)))
    return Packed(name, file, found)


def _made(file: Path, setting: CodecSetting) -> Row:
    return made(file, setting).row()


def _looked(each: Packed, mb_per_s: float, kept: Kept) -> Looked:
    """As for a path that is known to carry so much."""
    what = f"{each.file.name} sampled for {mb_per_s:g} MB/s"
    row = kept.packed(what, partial(_sampled, each.file, BITS_PER_BYTE * 1e6 * mb_per_s, list(each.made)))
    sample = FileSample.parse(row["sample"], each.file.stat().st_size)
    if sample is None:
        raise TransferFailed(f"{each.file.name}: a sample that makes no sense is kept: {row['sample']}")
    return Looked(sample, {setting: Speeds(*row["tried"][str(setting)]) for setting in each.made})


def _sampled(file: Path, line_bps: float, settings: Sequence[CodecSetting]) -> Row:
    sample = sample_file(file, line_bps)
    return {"sample": sample.format(), "tried": {str(each): try_setting(each, sample) for each in settings}}


def _cells(files: Sequence[Packed], mb_per_s: float, url: str, kept: Kept) -> list[Cell]:
    large = max((each.file for each in files), key=lambda file: file.stat().st_size)
    lines = {
        True: kept.moved(f"probe up at {mb_per_s:g} MB/s", lambda: _told(probe_upload_line(url)[0])),
        False: kept.moved(f"probe down at {mb_per_s:g} MB/s", lambda: _told(probe_download_line(f"{url}{large.name}"))),
    }
    return [
        Cell(
            content=each.content,
            file=each.file,
            upload=upload,
            mb_per_s=mb_per_s,
            line=NetworkLine(line["rate_bps"], line["setup_s"]),
            case=make_case(looked.sample),
            made=each.made,
            tried=looked.tried,
        )
        for each, looked in ((each, _looked(each, mb_per_s, kept)) for each in files)
        for upload, line in lines.items()
    ]


def _told(probed: FittedLine) -> Row:
    return {"rate_bps": probed.line.rate_bps, "setup_s": probed.line.setup_s}


@contextmanager
def server(root: Path, processors: set[int]) -> Iterator[int]:
    """A writable ``serve-files`` in a process of its own; its port."""
    command = [sys.executable, "-m", "tradewind_agent", "serve-files", str(root), "--port", "0", "--writable"]
    with running_on(processors):
        process = subprocess.Popen([*command, "--no-meter", "--json"], stdout=subprocess.PIPE, text=True)
    with process:
        if process.stdout is None or not (first := process.stdout.readline()):
            raise TransferFailed("serve-files did not start")
        try:
            yield json.loads(first)["port"]
        finally:
            process.terminate()
