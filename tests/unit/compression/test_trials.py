"""Which settings a sample is packed by before files are sent, and what that costs."""

import math
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

import pytest

from tradewind.compression.codecs import PROBE, Codec, CodecSetting, list_candidate_settings
from tradewind.compression.content import INCOMPRESSIBLE_RATIO, SAMPLE_BLOCKS
from tradewind.compression.contest import MAX_TRIALS
from tradewind.compression.history import CodecObservation, History
from tradewind.compression.model import Speeds
from tradewind_agent.compression.codecs import list_available_codecs, pack
from tradewind_agent.compression.planning import make_case
from tradewind_agent.compression.sampling import (
    MOST_PIECES,
    PIECE_BYTES,
    REPEATS,
    FileSample,
    choose_pieces,
    sample_file,
)
from tradewind_agent.compression.trials import try_setting, try_worthwhile_settings

CODECS = frozenset(Codec) - {Codec.PIGZ, Codec.PBZIP2}
GIGABYTE, DAYS_LONG = 10**9, 10**12


@pytest.fixture
def sample(tmp_path: Path) -> FileSample:
    """Of lines that pack some three to one."""
    lot, file = Random(1), tmp_path / "lines.csv"
    file.write_text("".join(f"{at},{lot.randrange(900)},{lot.random():.3f}\n" for at in range(60_000)))
    return sample_file(file)


def known(sample: FileSample, compress_bps: float) -> History:
    """All settings pack alike, the higher the level the better; nothing else is known."""
    case = make_case(sample)
    probe = sample.probe
    return History.of(
        CodecObservation(case=case, setting=each, speeds=Speeds(probe.ratio + 0.1 * each.level, compress_bps, 1e10))
        for each in list_candidate_settings(frozenset({Codec.GZIP, Codec.ZSTD}))
    )


def test_on_a_slow_path_with_much_to_send_the_strong_settings_are_tried(sample: FileSample) -> None:
    tried = try_worthwhile_settings(sample, DAYS_LONG, 1e6, CODECS)
    assert 0 < len(tried) <= MAX_TRIALS
    assert all(speeds.ratio > sample.probe.ratio for speeds in tried.values())
    assert {each.codec for each in tried} <= {Codec.XZ, Codec.BZIP2, Codec.BROTLI, Codec.ZSTD}


def test_trial_longer_than_its_gain_is_not_made(sample: FileSample) -> None:
    slow = known(sample, compress_bps=1e6)  # the sample for three seconds, of the ten that all takes
    assert not try_worthwhile_settings(sample, sample.file_bytes, 1e6, CODECS, history=slow)
    assert try_worthwhile_settings(sample, DAYS_LONG, 1e6, CODECS, history=slow)


def test_history_decides_the_order(sample: FileSample) -> None:
    tried = try_worthwhile_settings(sample, GIGABYTE, 1e6, CODECS, history=known(sample, compress_bps=1e10))
    assert CodecSetting(Codec.ZSTD, 19) in tried
    assert {each.codec for each in tried} <= {Codec.GZIP, Codec.ZSTD}


def test_content_that_does_not_pack_is_not_tried(tmp_path: Path) -> None:
    file = tmp_path / "noise"
    file.write_bytes(Random(2).randbytes(500_000))
    sample = sample_file(file)
    assert sample.probe.ratio < INCOMPRESSIBLE_RATIO
    assert not try_worthwhile_settings(sample, DAYS_LONG, 1e6, CODECS)


def test_codecs_of_one_end_alone_are_not_tried(sample: FileSample) -> None:
    tried = try_worthwhile_settings(sample, DAYS_LONG, 1e6, frozenset({Codec.GZIP, Codec.LZ4}))
    assert tried
    assert {each.codec for each in tried} <= {Codec.GZIP, Codec.LZ4}


@pytest.fixture
def uneven(tmp_path: Path) -> Path:
    """Begins as zeros do; nine tenths are noise and text by turns."""
    lot, file = Random(3), tmp_path / "uneven"
    parts = (lot.randbytes(300_000) if at % 2 else b"%d of much the same, " % at * 15_000 for at in range(30))
    file.write_bytes(bytes(1_000_000) + b"".join(parts))
    return file


def beginnings() -> list[float]:
    return [0.0] * (SAMPLE_BLOCKS - 1)


def test_longer_transfer_gets_larger_sample(uneven: Path) -> None:
    data = uneven.read_bytes()
    whole = len(data) / len(pack(data, PROBE))
    found = [sample_file(uneven, line_bps, ticks(0.002), beginnings).probe.ratio for line_bps in (1e12, 1e7, 1e5)]
    assert found[2] == pytest.approx(whole)
    assert abs(found[1] / whole - 1) < 0.1 < abs(found[0] / whole - 1)


def test_ratio_of_sample_is_extrapolated_to_all_probed_bytes(uneven: Path) -> None:
    setting, data = CodecSetting(Codec.ZSTD, 3), uneven.read_bytes()
    whole = len(data) / len(pack(data, setting))
    of_blocks, of_all = (
        try_setting(setting, sample_file(uneven, line_bps, ticks(0.002), beginnings)).ratio for line_bps in (1e12, 1e5)
    )
    assert abs(math.log(of_all / whole)) < 0.5 * abs(math.log(of_blocks / whole))


@pytest.mark.parametrize(
    ("file_bytes", "look_bytes", "pieces", "looked_at_bytes"),
    [
        (10**7, 700_000, 0, 0),  # hardly more than what is tried
        (10**7, 10**6, 8, 8 * PIECE_BYTES),
        (10**7, 10**12, 1, 10**7),
        (10**12, 10**12, MOST_PIECES, MOST_PIECES * PIECE_BYTES),
        (100, 10**12, 0, 0),
    ],
)
def test_pieces_lie_within_the_file_apart_from_each_other(
    file_bytes: int, look_bytes: float, pieces: int, looked_at_bytes: int
) -> None:
    found = choose_pieces(file_bytes, look_bytes)
    assert (len(found), sum(size for _, size in found)) == (pieces, looked_at_bytes)
    ends = [0, *(offset + size for offset, size in found)]
    assert all(offset >= before for (offset, _), before in zip(found, ends, strict=False))
    assert ends[-1] <= file_bytes


def test_a_codec_that_packs_side_by_side_is_as_fast_as_its_cores_together(sample: FileSample) -> None:
    bits, cores = 8 * sum(map(len, sample.blocks)), make_case(sample).cores
    is_parallel, alone = (
        try_setting(each, sample, ticks()) for each in (CodecSetting(Codec.ZSTD, 3), CodecSetting(Codec.GZIP, 6))
    )
    assert is_parallel[1:] == (bits * cores, bits)  # each took a second
    assert alone[1:] == (bits, bits)


def ticks(step_s: float = 1.0) -> Callable[[], float]:
    """A clock that is read once a second, or so often."""
    return partial(next, count(0.0, step_s))


def test_trials_end_once_they_have_taken_their_share_whatever_history_says(sample: FileSample) -> None:
    quick = known(sample, compress_bps=1e10)  # by which a trial takes no time; by the clock it takes some seconds
    promised_s = 400  # a fiftieth of it is eight
    total_bytes = int(promised_s * 1e6 * (sample.probe.ratio + 1.9) / 8)
    tried = try_worthwhile_settings(sample, total_bytes, 1e6, CODECS, history=quick, clock_s=ticks())
    assert 0 < len(tried) < len(try_worthwhile_settings(sample, DAYS_LONG, 1e6, CODECS, history=quick, clock_s=ticks()))


@pytest.mark.parametrize("codec", sorted(list_available_codecs()))
def test_the_first_time_that_a_codec_is_tried_its_library_is_not_timed(codec: Codec) -> None:
    """In a process of its own, as each copy is one."""
    program = (
        "import sys\n"
        "from tradewind.compression.codecs import Codec, CodecSetting\n"
        "from tradewind_agent.compression.sampling import measure_setting\n"
        "loaded = []\n"
        "def clock_s():\n"
        "    loaded.append(set(sys.modules))\n"
        "    return float(len(loaded))\n"
        f"measure_setting([b'x' * 5000], CodecSetting(Codec({str(codec)!r}), 1), clock_s, repeats=1)\n"
        "sys.exit(', '.join(sorted(loaded[-1] - loaded[0])) or None)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("line_bps", "packings"), [(1e12, 1), (1e3, REPEATS)])
def test_a_probe_is_repeated_only_where_that_is_little_of_the_transfer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line_bps: float, packings: int
) -> None:
    counted: list[bytes] = []

    def pack_counted(plain: bytes, setting: CodecSetting) -> bytes:
        counted.append(plain)
        return pack(plain, setting)

    (tmp_path / "some").write_bytes(b"something " * 10_000)
    monkeypatch.setattr("tradewind_agent.compression.sampling.pack", pack_counted)
    sample_file(tmp_path / "some", line_bps, clock_s=count().__next__ if line_bps > 1e9 else lambda: 0.0)
    assert len(counted) == packings


def test_a_sample_of_a_file_that_packs_well_is_smaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_bytes: list[float] = []
    monkeypatch.setattr(
        "tradewind_agent.compression.sampling.choose_pieces",
        lambda _, look_bytes: looked_bytes.append(look_bytes) or (),
    )
    for name, content in (("noise", Random(1).randbytes(1_000_000)), ("zeros", bytes(1_000_000))):
        (tmp_path / name).write_bytes(content)
        sample_file(tmp_path / name, 1e6, clock_s=count().__next__)
    assert looked_bytes[1] < looked_bytes[0] / 100
