"""Which settings a sample is packed by before files are sent, and what that costs."""

from pathlib import Path
from random import Random

import pytest

from tradewind.compression.codecs import Codec, Setting, candidates
from tradewind.compression.content import INCOMPRESSIBLE_RATIO
from tradewind.compression.contest import MOST_TRIED
from tradewind.compression.history import History, Observation
from tradewind.compression.model import Speeds
from tradewind_agent.compression.planning import case_of
from tradewind_agent.compression.sampling import Sample, sample_file
from tradewind_agent.compression.trials import packed_by, worthwhile_trials

CODECS = frozenset(Codec) - {Codec.PIGZ, Codec.PBZIP2}
GIGABYTE, DAYS_LONG = 10**9, 10**12


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """Of lines that pack some three to one."""
    lot, file = Random(1), tmp_path / "lines.csv"
    file.write_text("".join(f"{at},{lot.randrange(900)},{lot.random():.3f}\n" for at in range(60_000)))
    return sample_file(file)


def known(sample: Sample, compress_bps: float) -> History:
    """All settings pack alike, the higher the level the better; nothing else is known."""
    case = case_of(sample)
    probe = sample.probe
    return History.of(
        Observation(case=case, setting=each, speeds=Speeds(probe.ratio + 0.1 * each.level, compress_bps, 1e10))
        for each in candidates(frozenset({Codec.GZIP, Codec.ZSTD}))
    )


def test_on_a_slow_path_with_much_to_send_the_strong_settings_are_tried(sample: Sample) -> None:
    tried = worthwhile_trials(sample, DAYS_LONG, 1e6, CODECS)
    assert 0 < len(tried) <= MOST_TRIED
    assert all(speeds.ratio > sample.probe.ratio for speeds in tried.values())
    assert {each.codec for each in tried} <= {Codec.XZ, Codec.BZIP2, Codec.BROTLI, Codec.ZSTD}


def test_what_would_take_longer_to_try_than_it_can_save_is_not_tried(sample: Sample) -> None:
    slow = known(sample, compress_bps=1e6)  # the sample for three seconds, of the ten that all takes
    assert not worthwhile_trials(sample, sample.file_bytes, 1e6, CODECS, slow)
    assert worthwhile_trials(sample, DAYS_LONG, 1e6, CODECS, slow)


def test_history_decides_what_is_ahead(sample: Sample) -> None:
    tried = worthwhile_trials(sample, GIGABYTE, 1e6, CODECS, known(sample, compress_bps=1e10))
    assert Setting(Codec.ZSTD, 19) in tried
    assert {each.codec for each in tried} <= {Codec.GZIP, Codec.ZSTD}


def test_content_that_does_not_pack_is_not_tried(tmp_path: Path) -> None:
    file = tmp_path / "noise"
    file.write_bytes(Random(2).randbytes(500_000))
    sample = sample_file(file)
    assert sample.probe.ratio < INCOMPRESSIBLE_RATIO
    assert not worthwhile_trials(sample, DAYS_LONG, 1e6, CODECS)


def test_codecs_of_one_end_alone_are_not_tried(sample: Sample) -> None:
    tried = worthwhile_trials(sample, DAYS_LONG, 1e6, frozenset({Codec.GZIP, Codec.LZ4}))
    assert tried
    assert {each.codec for each in tried} <= {Codec.GZIP, Codec.LZ4}


def test_a_codec_that_packs_side_by_side_is_as_fast_as_its_cores_together(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_core = Speeds(3.0, 1e9, 2e9)
    monkeypatch.setattr("tradewind_agent.compression.trials.measured", lambda *_, **__: one_core)
    cores = case_of(sample).cores
    assert packed_by(Setting(Codec.ZSTD, 3), sample) == Speeds(3.0, 1e9 * cores, 2e9)
    assert packed_by(Setting(Codec.GZIP, 6), sample) == one_core
