"""The model that the service uses, and the probe that feeds it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.compression import model, printed
from tradewind.compression.model import Mode, NetworkLine, Speeds
from tradewind.compression.probe import TimedTransfer, fit_network_line, solve_line_of_two
from tradewind.errors import InvalidValue

MB = 10**6
LINE = NetworkLine(16e6, 0.5)
SPEEDS = Speeds(4.0, 40e6, 80e6)


def test_raw_is_as_printed() -> None:
    assert model.compute_raw_s(10 * MB, LINE) == printed.compute_uncompressed_s(10 * MB, 16e6, 0.5) == 5.5


def test_one_after_the_other_all_stages_add_up() -> None:
    # 2 s to pack, 1.25 s to send, 1 s to unpack, half a second before.
    assert model.compute_sequential_s(10 * MB, LINE, SPEEDS) == pytest.approx(4.75)


def test_piped_the_slowest_stage_counts_and_one_block_of_the_others() -> None:
    # 10 MB in 8 blocks of 1.25 MB: packing 2 s, and an eighth of 1.25 s + 1 s.
    assert model.compute_block_bytes(10 * MB) == 1_250_000
    assert model.compute_piped_s(10 * MB, LINE, SPEEDS) == pytest.approx(0.5 + 2.0 + 2.25 / 8)


rates = st.floats(1e5, 1e10)


@given(st.integers(1, 10**11), rates, st.floats(1.0, 50.0), rates, rates)
def test_no_stage_is_promised_to_be_outrun(
    size: int, line_bps: float, ratio: float, compress_bps: float, decompress_bps: float
) -> None:
    line, speeds = NetworkLine(line_bps), Speeds(ratio, compress_bps, decompress_bps)
    piped_bps = 8 * size / model.compute_piped_s(size, line, speeds)
    assert piped_bps <= min(compress_bps, decompress_bps, ratio * line_bps) * (1 + 1e-9)
    assert model.compute_piped_s(size, line, speeds) <= model.compute_sequential_s(size, line, speeds) * (1 + 1e-9)


def test_duration_by_mode() -> None:
    assert model.compute_duration_s(Mode.RAW, 10 * MB, LINE, None) == 5.5
    assert model.compute_duration_s(Mode.SEQUENTIAL, 10 * MB, LINE, SPEEDS) == pytest.approx(4.75)


def test_packing_never_pays_where_the_codec_is_slower_than_the_path() -> None:
    assert not model.is_worthwhile_for_long_files(50e6, SPEEDS)
    assert model.is_worthwhile_for_long_files(30e6, SPEEDS)


def test_the_papers_two_files_give_its_rate_and_start_up() -> None:
    small, large = TimedTransfer(140_000, 0.14 / 0.36), TimedTransfer(1_240_000, 1.24 / 2.06)
    line = solve_line_of_two(small, large)
    assert line.rate_bps / 8e6 == pytest.approx(5.163, rel=0.002)
    assert line.setup_s == pytest.approx(0.3618, rel=0.002)


def test_two_files_of_which_the_larger_was_quicker_are_refused() -> None:
    with pytest.raises(InvalidValue, match="take sizes further apart"):
        solve_line_of_two(TimedTransfer(1000, 1.0), TimedTransfer(2000, 0.9))


def test_three_sizes_with_noise_find_the_line_within_its_errors() -> None:
    noise = (1.01, 0.99, 1.0, 0.985, 1.015, 1.0)
    sizes = (64_000, 256_000, MB) * 2
    timed = [TimedTransfer(size, factor * (0.1 + size / 2e6)) for size, factor in zip(sizes, noise, strict=True)]
    found = fit_network_line(timed)
    assert abs(found.line.rate_bps - 16e6) < 3 * found.rate_relative_error * 16e6
    assert abs(found.line.setup_s - 0.1) < 3 * found.setup_error_s


def test_a_path_without_start_up_is_a_line_through_the_origin() -> None:
    """Least squares alone would put the small file below the origin, and tell a rate with it."""
    found = fit_network_line(
        [TimedTransfer(64 * 1024, 0.1), TimedTransfer(256 * 1024, 0.5), TimedTransfer(1024 * 1024, 2.4)]
    ).line
    assert found.setup_s == 0.0
    assert 8 * 64 * 1024 / found.rate_bps == pytest.approx(0.12, rel=0.1)
    assert solve_line_of_two(TimedTransfer(1000, 1.0), TimedTransfer(8000, 16.0)) == NetworkLine(4000.0, 0.0)


@pytest.mark.parametrize("sizes", [(1000, 8000), (1000, 2000, 7999)])
def test_sizes_too_few_or_too_close_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(InvalidValue, match="needs 3 sizes"):
        fit_network_line([TimedTransfer(size, size / 1e6) for size in sizes])
