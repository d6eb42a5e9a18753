"""The published equations, each against a value worked out by hand; rates in bit/s, so that 8 Mbit/s are 1 MB/s."""

import pytest

from tradewind.compression import printed
from tradewind.errors import InvalidValue

MB = 10**6
LINE = 16e6  # 2 MB/s
SETUP = 0.5
US = 10 * MB


def test_equations_1_and_2_add_the_start_up_to_the_sending() -> None:
    assert printed.compute_uncompressed_s(US, LINE, SETUP) == pytest.approx(5.5)  # 10 MB at 2 MB/s and half a second


def test_equations_3_and_4_are_the_size_over_that_time() -> None:
    assert printed.compute_uncompressed_bps(US, LINE, SETUP) == pytest.approx(8e7 / 5.5)


def test_equation_5_finds_the_rate_again() -> None:
    assert printed.compute_line_bps(US, 8e7 / 5.5, SETUP) == pytest.approx(LINE)


def test_equation_5_refuses_a_start_up_as_long_as_the_transfer() -> None:
    with pytest.raises(InvalidValue, match="longer than the whole transfer"):
        printed.compute_line_bps(US, 8e7 / 0.4, SETUP)


def test_equations_7_and_13_add_packing_start_up_and_sending() -> None:
    # 10 MB at 5 MB/s: 2 s; 2.5 MB at 2 MB/s: 1.25 s.
    assert printed.compute_sequential_s(US, LINE, SETUP, 4, 40e6) == pytest.approx(3.75)


def test_equations_8_and_14_leave_packing_out() -> None:
    assert printed.compute_overlapped_s(US, LINE, SETUP, 4) == pytest.approx(1.75)


def test_equations_9_11_15_and_17_are_the_size_over_the_sequential_time() -> None:
    assert printed.compute_lower_bound_bps(US, LINE, SETUP, 4, 40e6) == pytest.approx(8e7 / 3.75)


def test_equations_10_12_16_and_18_are_the_size_over_the_overlapped_time() -> None:
    assert printed.compute_upper_bound_bps(US, LINE, SETUP, 4) == pytest.approx(8e7 / 1.75)


@pytest.mark.parametrize(("coder_bps", "factor"), [(32e6, 0.5), (16e6, 1.0), (8e6, 1.0)])
def test_equations_19_and_21_are_continuous_where_the_rates_are_equal(coder_bps: float, factor: float) -> None:
    assert printed.compute_overlap_factor(LINE, coder_bps) == factor


@pytest.mark.parametrize(
    ("mb_per_s", "ratio", "coder", "setup_s", "expected"),
    [(5.0, 12.93, 12.0, 0.39, 15.92)],  # xz -0 on the 30.88 MB file at 5 MB/s
)
def test_equations_20_and_22_give_the_papers_example(
    mb_per_s: float, ratio: float, coder: float, setup_s: float, expected: float
) -> None:
    found = printed.compute_piped_bps(30.88 * MB, 8e6 * mb_per_s, setup_s, ratio, 8e6 * coder)
    assert found / 8e6 == pytest.approx(expected, abs=0.01)
    assert found > 8e6 * coder  # more than the codec delivers: why the service does not use them
