"""Make packed and plain transfers over paths of the compressed-transfer paper's rates, and what its model expects.

Both ends are ours: `serve-files` and packed copies, by HTTP where the paper had ssh. The model's numbers of a codec are
measured on the file itself before, with nothing sent. The round trip is an assumption, of a wireless network.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.compression.files import make_content
from benchmarks.papers.catalogue import Claims
from benchmarks.papers.trial import TrialSite
from benchmarks.support.disturbance import DisturbanceWatch, watch_disturbance
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.runs import Row
from tradewind.compression.codecs import CODEC_LEVELS, CodecSetting, parse_setting
from tradewind.compression.model import NetworkLine, Speeds
from tradewind.compression.printed import compute_piped_bps
from tradewind.compression.prior import load_packaged_history
from tradewind.compression.probe import TimedTransfer, fit_network_line, solve_line_of_two
from tradewind.units import BITS_PER_BYTE, MBIT
from tradewind_agent.compression.cores import count_usable_cores
from tradewind_agent.compression.planning import make_case
from tradewind_agent.compression.sampling import measure_setting, sample_file

RTT_S = 0.03
PORT = 8090
SEED = 101
"""Another seed than that of the files whose measurements are shipped as expectations."""

PROBE_BYTES = (1_000, 140_000, 1_240_000)
"""The paper's smallest file, and the two of its example of a probe (equation 6)."""

PROBE_REPEATS = 2
KINDS = ("log", "sources")
LARGE_BYTES, SMALL_BYTES = 10_000_000, 100_000
CODECS = ("gzip", "bzip2", "xz", "lzop", "pigz", "pbzip2")
"""All of its table I."""

UP_LEVEL, DOWN_LEVEL = 1, 9
"""``-1`` up and ``-9`` down, as in figures 9 to 12."""

FAST_MB_PER_S = 20.0
"""A path that is faster than a slow codec."""


def _make_path(mb_per_s: float) -> PathSpec:
    return PathSpec(rate_bps=BITS_PER_BYTE * mb_per_s * MBIT, rtt_s=RTT_S)


@dataclass(frozen=True, slots=True)
class PackedTransfers:
    """Plain files of three sizes for the line, then packed ones, one direction at one rate."""

    upload: bool
    mb_per_s: float

    @property
    def name(self) -> str:
        return f"packed {'uploads' if self.upload else 'downloads'} at {self.mb_per_s:g} MB/s"

    @property
    def source_part(self) -> str:
        return "packing"

    def describe_conditions(self, claims: Claims) -> str:  # noqa: ARG002 -- its own files and path
        return str(_make_path(self.mb_per_s))

    def measure(self, yard: TrialSite) -> Row:
        with _set_up(self.mb_per_s, yard) as (ground, watch):
            settings = _list_settings(UP_LEVEL if self.upload else DOWN_LEVEL)
            timed = _probe_sizes(ground, upload=self.upload)
            line = fit_network_line(timed).line
            rows = []
            for kind in KINDS:
                for size in (LARGE_BYTES, SMALL_BYTES):
                    file = ground.make_file(kind, size)
                    rows += [_compare_with_model(ground, file, each, line, upload=self.upload) for each in settings]
        row: Row = {"line_bps": line.rate_bps, "setup_s": line.setup_s}
        row["setup_of_two_s"] = solve_line_of_two(*_pick_quickest(timed)).setup_s
        return row | {"files": rows, "disturbed": watch.disturbance}


@dataclass(frozen=True, slots=True)
class StartUps:
    """Plain files of three sizes up and down at each of some rates: the fixed cost of any transfer."""

    mb_per_s: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"start-up at {', '.join(f'{each:g}' for each in self.mb_per_s)} MB/s"

    @property
    def source_part(self) -> str:
        return "packing"

    def describe_conditions(self, claims: Claims) -> str:  # noqa: ARG002 -- its own files and paths
        return f"{RTT_S:g} s"

    def measure(self, yard: TrialSite) -> Row:
        row: Row = {"disturbed": None}
        for rate in self.mb_per_s:
            with _set_up(rate, yard) as (ground, watch):
                for direction, upload in (("up", True), ("down", False)):
                    timed = _probe_sizes(ground, upload=upload)
                    row[f"{direction} {rate:g}"] = fit_network_line(timed).line.setup_s
                    row[f"{direction} {rate:g} of two"] = solve_line_of_two(*_pick_quickest(timed)).setup_s
            row["disturbed"] = row["disturbed"] or watch.disturbance
        return row


@dataclass(frozen=True, slots=True)
class SlowCodec:
    """A large file over a path that is faster than a codec packs, and one that is far slower than another does."""

    @property
    def name(self) -> str:
        return "codecs slower and faster than the path"

    @property
    def source_part(self) -> str:
        return "packing"

    def describe_conditions(self, claims: Claims) -> str:  # noqa: ARG002 -- its own files and paths
        return f"{_make_path(FAST_MB_PER_S)}; {_make_path(0.5)}"

    def measure(self, yard: TrialSite) -> Row:
        row: Row = {"disturbed": None}
        for name, rate, codec in (("slower", FAST_MB_PER_S, "xz:9"), ("faster", 0.5, "lzop:1")):
            with _set_up(rate, yard) as (ground, watch):
                file = ground.make_file("log", LARGE_BYTES)
                raw, packed = (ground.transfer(file, each, upload=True) for each in ("raw", codec))
                row[f"{name}_raw_s"], row[f"{name}_s"] = raw["seconds"], packed["seconds"]
                row[f"{name}_ratio"] = packed["plain_bytes"] / packed["packed_bytes"]
            row["disturbed"] = row["disturbed"] or watch.disturbance
        return row


def _list_settings(level: int) -> list[CodecSetting]:
    return [parse_setting(f"{codec}:{level}") for codec in CODECS]


class _Client:
    """Transfers of files between a client and `serve-files` behind a path."""

    def __init__(self, client: Any, url: str, here: Path, served: Path) -> None:
        self._client, self._url, self._here, self._served = client, url, here, served
        self._made = 0

    def make_file(self, kind: str, size_bytes: int) -> Path:
        path = self._here / f"{kind}-{size_bytes}"
        if not path.exists():
            path.write_bytes(make_content(kind, size_bytes, SEED))
        return path

    def transfer(self, file: Path, setting: str, *, upload: bool) -> dict[str, Any]:
        """Return seconds and bytes of one transfer, each under another name, so that nothing is there already."""
        self._made += 1
        name, local = f"{self._made}-{file.name}", file
        if not upload:
            local = self._here / f"got-{name}"
            shutil.copyfile(file, self._served / name)
        request = {"file": str(local), "url": self._url + name, "setting": setting, "upload": upload}
        self._client.stdin.write(json.dumps(request) + "\n")
        self._client.stdin.flush()
        line = self._client.stdout.readline()
        if not line:
            raise EmulationBroke(f"a transfer of {file.name} by {setting} failed")
        for left in (self._served / name, *([] if upload else [local])):
            left.unlink()
        watch: dict[str, Any] = json.loads(line)
        return watch


def _probe_sizes(ground: _Client, *, upload: bool) -> list[TimedTransfer]:
    sizes = PROBE_BYTES * PROBE_REPEATS
    return [
        TimedTransfer(size, ground.transfer(ground.make_file("random", size), "raw", upload=upload)["seconds"])
        for size in sizes
    ]


def _pick_quickest(timed: Sequence[TimedTransfer]) -> tuple[TimedTransfer, TimedTransfer]:
    """Return the quicker transfer of each of the paper's two sizes."""
    small, large = (
        min((each for each in timed if each.file_bytes == size), key=_get_seconds) for size in PROBE_BYTES[1:]
    )
    return small, large


def _get_seconds(timed: TimedTransfer) -> float:
    return timed.duration_s


def _compare_with_model(ground: _Client, file: Path, setting: CodecSetting, line: NetworkLine, *, upload: bool) -> Row:
    """Make one packed transfer, and compare it with what equations 20 and 22 and the shipped history expect of it.

    The codec of both equations is the slower of its stages, as both run while the file is sent.
    """
    size = file.stat().st_size
    speeds = _estimate_on_all_cores(measure_setting([file.read_bytes()], setting), setting)
    transfer = ground.transfer(file, str(setting), upload=upload)
    coder_bps = min(speeds.compress_bps, speeds.decompress_bps)
    expected = load_packaged_history().predict_speeds(setting, make_case(sample_file(file)))
    known = None if expected is None else expected.speeds
    return {
        "file": file.name,
        "setting": str(setting),
        "measured_bps": BITS_PER_BYTE * size / transfer["seconds"],
        "printed_bps": compute_piped_bps(size, line.rate_bps, line.setup_s, speeds.ratio, coder_bps),
        "ratio": transfer["plain_bytes"] / transfer["packed_bytes"],
        "compress_bps": speeds.compress_bps,
        "decompress_bps": speeds.decompress_bps,
        "expected_ratio": known and known.ratio,
        "expected_compress_bps": known and _estimate_on_all_cores(known, setting).compress_bps,
        "expected_decompress_bps": known and known.decompress_bps,
    }


def _estimate_on_all_cores(speeds: Speeds, setting: CodecSetting) -> Speeds:
    """Return the speeds of packed copies: they pack blocks in parallel, except codecs that use all cores themselves."""
    cores = count_usable_cores() if CODEC_LEVELS[setting.codec].is_parallel else 1
    return speeds._replace(compress_bps=cores * speeds.compress_bps)


@contextmanager
def _set_up(mb_per_s: float, yard: TrialSite) -> Iterator[tuple[_Client, DisturbanceWatch]]:
    with tempfile.TemporaryDirectory(dir=yard.folder, prefix="packing-") as work, ExitStack() as resources:
        here, served = Path(work) / "here", Path(work) / "served"
        for folder in (here, served):
            folder.mkdir()
        bed = resources.enter_context(Testbed(_make_path(mb_per_s), seed=yard.seed))
        watch = resources.enter_context(watch_disturbance(bed, prioritised=yard.prioritised))
        options = [str(served), "--host", bed.server.address, "--port", str(PORT), "--writable", "--no-meter", "--json"]
        server = resources.enter_context(_start_program(bed, bed.server, "tradewind_agent", "serve-files", *options))
        server.stdout.readline()  # it listens
        client = resources.enter_context(_start_program(bed, bed.clients[0], "benchmarks.papers.trials.packing_client"))
        yield _Client(client, f"http://{bed.server.address}:{PORT}/", here, served), watch


@contextmanager
def _start_program(bed: Testbed, host: Any, module: str, *arguments: str) -> Iterator[Any]:
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": None, "text": True}
    program: Any = bed.start(host, [sys.executable, "-P", "-m", module, *arguments], **streams)
    try:
        yield program
    finally:
        program.terminate()
        program.communicate()
