"""Judge the choice on unknown machines and files, by measurements of the squash benchmark (five machines, 28 files)."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from tradewind.compression.advice import CompressionQuery, advise
from tradewind.compression.codecs import CODEC_LEVELS, PROBE, Codec, CodecSetting
from tradewind.compression.history import CodecObservation, CompressionCase, History
from tradewind.compression.model import NetworkLine, Speeds, compute_piped_s, compute_raw_s
from tradewind.units import BITS_PER_BYTE

RATES_MB_PER_S = (0.5, 2.0, 5.0, 20.0)
SETUP_S = 0.05
LEAST_FILE_BYTES = 10**6
"""Smaller files are judged separately: their transfers are all start-up."""

FOLDS = 7
"""Files are left out in groups of four, the one under test among them: the history never has any of the group."""

SHORTEST_S = 1e-6
_CODECS: Mapping[tuple[str, str], Codec] = {
    ("zlib", "gzip"): Codec.GZIP,
    ("bzip2", "bzip2"): Codec.BZIP2,
    ("lzma", "xz"): Codec.XZ,
    ("lzo", "lzo1x"): Codec.LZOP,
    ("zstd", "zstd"): Codec.ZSTD,
    ("lz4", "lz4f"): Codec.LZ4,
    ("brotli", "brotli"): Codec.BROTLI,
}
_LZOP_LEVEL = {1: 3, 999: 9}
"""lzop -3 is LZO1X-1, lzop -9 LZO1X-999."""

_ARM = ("odroid", "raspberry")


class MachineRecord(NamedTuple):
    machine: str
    file: str
    file_bytes: int
    speeds: Mapping[CodecSetting, Speeds]

    @property
    def case(self) -> CompressionCase:
        architecture = "arm" if self.machine.startswith(_ARM) else "x86-64"
        return CompressionCase(
            file_bytes=self.file_bytes,
            kind="file",
            cpu_class=f"{architecture}/{self.machine}/1",
            probe=self.speeds[PROBE],
        )

    def list_observations(self) -> Iterator[CodecObservation]:
        case = self.case
        return (CodecObservation(case=case, setting=setting, speeds=speeds) for setting, speeds in self.speeds.items())


def read_machines(folder: Path) -> list[MachineRecord]:
    """Return all files of all machines that ``folder`` has tables of."""
    return [each for table in sorted(folder.glob("**/squash_*.csv")) for each in _read_table(table)]


def _read_table(table: Path) -> Iterator[MachineRecord]:
    machine = table.stem.removeprefix("squash_")
    sizes: dict[str, int] = {}
    speeds: dict[str, dict[CodecSetting, tuple[int, float, float]]] = {}
    with table.open(newline="") as lines:
        for row in csv.DictReader(lines):
            if row["codec"] == "copy":
                sizes[row["dataset"]] = int(row["compressed_size"])
            setting = _find_setting(row)
            if setting is not None and row["compressed_size"]:
                figures = (int(row["compressed_size"]), float(row["compress_wall"]), float(row["decompress_wall"]))
                speeds.setdefault(row["dataset"], {})[setting] = figures
    for file, found in speeds.items():
        bits = BITS_PER_BYTE * sizes[file]
        yield MachineRecord(
            machine,
            file,
            sizes[file],
            {
                setting: Speeds(sizes[file] / size, bits / max(pack_s, SHORTEST_S), bits / max(unpack_s, SHORTEST_S))
                for setting, (size, pack_s, unpack_s) in found.items()
            },
        )


def _find_setting(row: Mapping[str, str]) -> CodecSetting | None:
    codec = _CODECS.get((row["plugin"], row["codec"]))
    if codec is None:
        return None
    level = int(row["level"]) if row["level"] else CODEC_LEVELS[codec].default_level
    if codec is Codec.LZOP:
        return CodecSetting(codec, _LZOP_LEVEL[level]) if level in _LZOP_LEVEL else None
    return (
        CodecSetting(codec, level) if CODEC_LEVELS[codec].min_level <= level <= CODEC_LEVELS[codec].max_level else None
    )


def judge_unseen_machines(
    measured: Sequence[MachineRecord], *, quick: bool = False
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the regret of the choice on each machine for each file, from a history without either; a row a machine and
    rate.

    Of the pair only gzip -1's result on the file is known, as from the agent's sample.
    """
    rows = []
    regrets: list[tuple[float, int]] = []
    for machine in sorted({each.machine for each in measured}):
        found: dict[float, list[float]] = {rate: [] for rate in RATES_MB_PER_S}
        for under_test, history in _split_folds(measured, machine, 1 if quick else FOLDS):
            for each in under_test:
                for rate in RATES_MB_PER_S:
                    found[rate].append(_measure_regret(each, history, NetworkLine(BITS_PER_BYTE * 1e6 * rate, SETUP_S)))
                    regrets.append((found[rate][-1], each.file_bytes))
        for rate, lost in found.items():
            case = f"{machine} at {rate:g} MB/s"
            rows.append({"case": case, "files": len(lost), "regret_median": median(lost), "regret_mean": mean(lost)})
    large = sorted(regret for regret, size in regrets if size >= LEAST_FILE_BYTES)
    return rows, {
        "unseen_machine_regret_median": median(large),
        "unseen_machine_regret_p90": large[int(0.9 * len(large))],
        "unseen_machine_regret_all_files_median": median(regret for regret, _ in regrets),
    }


def _split_folds(
    measured: Sequence[MachineRecord], machine: str, most: int
) -> Iterator[tuple[list[MachineRecord], History]]:
    files = sorted({each.file for each in measured})
    for fold in range(most):
        left_out = set(files[fold::FOLDS])
        history = History.of(
            observation
            for each in measured
            if each.machine != machine and each.file not in left_out
            for observation in each.list_observations()
        )
        yield [each for each in measured if each.machine == machine and each.file in left_out], history


def _measure_regret(each: MachineRecord, history: History, line: NetworkLine) -> float:
    """Return the throughput lost against the best of all measured settings, the raw transfer among them."""
    advice = advise(CompressionQuery(case=each.case, line=line, settings=sorted(each.speeds)), history)
    took_s: dict[CodecSetting | None, float] = {
        setting: compute_piped_s(each.file_bytes, line, speeds) for setting, speeds in each.speeds.items()
    }
    took_s[None] = compute_raw_s(each.file_bytes, line)
    return 1 - min(took_s.values()) / took_s[advice.best.setting]
