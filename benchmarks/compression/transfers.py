"""Judge the choice on real files and rate-limited sockets, up and down, against each candidate that may be best."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import ClassVar, NamedTuple

from benchmarks.compression import bounds
from benchmarks.compression.ends import open_folder, run_on, split_processors
from benchmarks.compression.files import KINDS, make_content
from benchmarks.compression.judging import GZIP_6, build_history_without, choose_advice
from benchmarks.compression.modes import AUTO, RAW, Cell, TransferFailed, run_transfer
from benchmarks.compression.packing import PackedStream, pack_file
from benchmarks.compression.row_store import RowStore
from benchmarks.compression.slow_path import run_slow_path
from benchmarks.wan.runs import Row
from tradewind.compression.codecs import CodecSetting, list_candidate_settings, parse_setting
from tradewind.compression.content import Kind
from tradewind.compression.model import NetworkLine, Speeds
from tradewind.compression.probe import FittedLine
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.compression.codecs import list_available_codecs
from tradewind_agent.compression.packed.path_probe import probe_download_line, probe_upload_line
from tradewind_agent.compression.planning import make_case
from tradewind_agent.compression.sampling import FileSample, sample_file
from tradewind_agent.compression.trials import try_setting


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is transferred.

    Attributes
    ----------
    rates_mb_per_s : of the paths. The fast ones come first, where the speed of codecs matters most: the machine is then
        still as it was when that was measured.
    settings : the candidates by name; all that this machine has where none is named.
    rounds : transfers of each file in each mode. The quickest counts: other work only ever slows.
    """

    FULL: ClassVar["Extent"]
    QUICK: ClassVar["Extent"]
    SMOKE: ClassVar["Extent"]

    rates_mb_per_s: Sequence[float]
    sizes_bytes: Sequence[int]
    contents: Sequence[str]
    settings: Sequence[str] = ()
    rounds: int = 2

    def list_candidates(self) -> Sequence[CodecSetting]:
        """Return the settings that are compared."""
        return tuple(map(parse_setting, self.settings)) or list_candidate_settings(list_available_codecs())


Extent.FULL = Extent((20.0, 5.0, 2.0, 0.5), (12_000_000, 1_000_000), tuple(KINDS))
Extent.QUICK = Extent((20.0, 2.0), (4_000_000,), tuple(KINDS), ("gzip:1", "gzip:6", "xz:0", "zstd:3", "lz4:1"))
Extent.SMOKE = Extent((20.0,), (200_000,), ("log", "random"), ("gzip:1", "gzip:6", "zstd:3"), rounds=1)

CONTENDERS_AT_ONCE = 2
"""Contenders of a cell that are transferred before the next ones are picked."""

SEED = 101
"""Seed of the files; another than that of the files of the packaged measurements."""


class FileStreams(NamedTuple):
    """A file, and its packed stream by each setting."""

    content: str
    file: Path
    made: Mapping[CodecSetting, PackedStream]


class SampledFile(NamedTuple):
    """The sample of a file, and each setting's speeds on it."""

    sample: FileSample
    tried: Mapping[CodecSetting, Speeds]


def run_transfers(fallback: Path, store: RowStore, extent: Extent, *, seed: int) -> list[Cell]:
    """Return all cells, transferred in a folder in memory where there is room. ``fallback`` : see `open_folder`."""
    with open_folder(2 * len(extent.contents) * sum(extent.sizes_bytes), fallback) as folder:
        return run_transfers_in(folder, store, extent, seed=seed)


def run_transfers_in(folder: Path, store: RowStore, extent: Extent, *, seed: int) -> list[Cell]:
    """Return all cells, each transferred in all modes that could be the best, between two ends of half a machine each.

    On each path files, directions and modes alternate in a random order.
    """
    served = folder / "served"
    served.mkdir()
    settings = extent.list_candidates()
    own_processors, server_processors = split_processors()
    with run_on(own_processors):
        files = [
            _pack_with_all(*named, settings, store)
            for size in extent.sizes_bytes
            for named in _write_files(folder, served, extent.contents, size)
        ]
    cells: list[Cell] = []
    with ExitStack() as servers:
        ports = {
            name: servers.enter_context(run_server(served, server_processors, held_back=KINDS[name]))
            for name in extent.contents
        }
        for rate in extent.rates_mb_per_s:
            with ExitStack() as paths:
                urls = {name: paths.enter_context(run_slow_path(port, 1e6 * rate)) for name, port in ports.items()}
                paths.enter_context(run_on(own_processors))
                cells_on_path = _make_cells(files, rate, urls, store)
                cells += cells_on_path
                draw = Random(f"{seed} {rate}")
                rounds_on_path = TransferRounds(
                    cells=cells_on_path, store=store, urls=urls, served=served, draw=draw, rounds=extent.rounds
                )
                rounds_on_path.run(
                    {
                        cell.name: [RAW, AUTO, GZIP_6, str(choose_advice(cell, cells_on_path).best.setting or RAW)]
                        for cell in cells_on_path
                    }
                )
                while due := {cell.name: ways for cell in cells_on_path if (ways := _pick_contenders(cell))}:
                    rounds_on_path.run(due)
    return cells


def _pick_contenders(cell: Cell) -> list[str]:
    return list(map(str, bounds.pick_contenders(cell.compute_least_s(), cell.fixed_s, CONTENDERS_AT_ONCE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRounds:
    """Transfers of cells over one path, in a new random order each round; ``urls`` : of the servers by content."""

    cells: Sequence[Cell]
    store: RowStore
    urls: Mapping[str, str]
    served: Path
    draw: Random
    rounds: int

    def run(self, ways: Mapping[str, Sequence[str]]) -> None:
        """Transfer each cell in the modes under its name."""
        for number in range(1, self.rounds + 1):
            due = [(cell, way) for cell in self.cells for way in dict.fromkeys(ways.get(cell.name, ()))]
            self.draw.shuffle(due)
            for cell, way in due:
                what = f"{cell.name} by {way}, {number} of {self.rounds}"
                row = self.store.find_transfer(what, partial(self._transfer, cell, way))
                cell.took_s[way] = min(row["took_s"], cell.took_s.get(way, row["took_s"]))
            sys.stderr.write(f"{self.cells[0].mb_per_s:g} MB/s, round {number}: {len(due)} transfers\n")

    def _transfer(self, cell: Cell, way: str) -> Row:
        history = partial(build_history_without, cell, self.cells)
        return {"took_s": run_transfer(cell, way, url=self.urls[cell.content], served=self.served, history=history)}


def _write_files(folder: Path, served: Path, contents: Sequence[str], size_bytes: int) -> Iterator[tuple[str, Path]]:
    """Write one file of each content, here and at the server."""
    for name in contents:
        data = make_content(name, size_bytes, SEED)
        for place in (folder, served):
            (place / f"{name}-{size_bytes}").write_bytes(data)
        yield name, folder / f"{name}-{size_bytes}"


def _pack_with_all(name: str, file: Path, settings: Sequence[CodecSetting], store: RowStore) -> FileStreams:
    found = {}
    for each in settings:
        found[each] = PackedStream.from_row(
            store.find_packing(f"{file.name} packed by {each}", partial(_make_stream_row, file, each))
        )
    return FileStreams(name, file, found)


def _make_stream_row(file: Path, setting: CodecSetting) -> Row:
    return pack_file(file, setting).to_row()


def _sample_for(each: FileStreams, mb_per_s: float, store: RowStore) -> SampledFile:
    """Sample a file as for a path that is known to carry so much."""
    what = f"{each.file.name} sampled for {mb_per_s:g} MB/s"
    row = store.find_packing(
        what, partial(_make_sample_row, each.file, BITS_PER_BYTE * 1e6 * mb_per_s, list(each.made))
    )
    sample = FileSample.parse(row["sample"], each.file.stat().st_size)
    if sample is None:
        raise TransferFailed(f"{each.file.name}: a stored sample makes no sense: {row['sample']}")
    return SampledFile(sample, {setting: Speeds(*row["tried"][str(setting)]) for setting in each.made})


def _make_sample_row(file: Path, line_bps: float, settings: Sequence[CodecSetting]) -> Row:
    sample = sample_file(file, line_bps)
    return {"sample": sample.format(), "tried": {str(each): try_setting(each, sample) for each in settings}}


def _make_cells(files: Sequence[FileStreams], mb_per_s: float, urls: Mapping[str, str], store: RowStore) -> list[Cell]:
    large, url = max((each.file for each in files), key=lambda file: file.stat().st_size), next(iter(urls.values()))
    lines = {
        True: store.find_transfer(f"probe up at {mb_per_s:g} MB/s", lambda: _make_line_row(probe_upload_line(url)[0])),
        False: store.find_transfer(
            f"probe down at {mb_per_s:g} MB/s", lambda: _make_line_row(probe_download_line(f"{url}{large.name}"))
        ),
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
        for each, looked in ((each, _sample_for(each, mb_per_s, store)) for each in files)
        for upload, line in lines.items()
    ]


def _make_line_row(probed: FittedLine) -> Row:
    return {"rate_bps": probed.line.rate_bps, "setup_s": probed.line.setup_s}


@contextmanager
def run_server(root: Path, processors: set[int], *, held_back: Kind) -> Iterator[int]:
    """Run a writable ``serve-files`` in a process of its own, which knows nothing of one kind; yield its port."""
    module = ["benchmarks.compression.held_back", held_back]
    command = [sys.executable, "-m", *module, "serve-files", str(root), "--port", "0", "--writable"]
    with run_on(processors):
        process = subprocess.Popen([*command, "--no-meter", "--json"], stdout=subprocess.PIPE, text=True)
    with process:
        if process.stdout is None or not (first := process.stdout.readline()):
            raise TransferFailed("serve-files did not start")
        try:
            yield json.loads(first)["port"]
        finally:
            process.terminate()
