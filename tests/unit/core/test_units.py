import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind import units
from tradewind.errors import InvalidUnit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500Mbps", 5e8),
        ("10Gbit/s", 1e10),
        ("12.5MB/s", 1e8),
        ("1000bit/s", 1000.0),
        ("56kbps", 56e3),
        ("1.5MBps", 12e6),
    ],
)
def test_a_rate_is_read_in_bits_unless_it_says_bytes(text, expected):
    assert units.parse_bps(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4096", 4096), ("64KiB", 65536), ("64kB", 64000), ("1.5GB", 1_500_000_000), ("2 MiB", 2**21)],
)
def test_a_size_takes_decimal_and_binary_prefixes(text, expected):
    assert units.parse_bytes(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("60ms", 0.06), ("90s", 90.0), ("2h", 7200.0), ("1.5min", 90.0)])
def test_a_duration_is_read_in_seconds(text, expected):
    assert units.parse_seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"), [("4kJ", 4000.0), ("500J", 500.0), ("0.5Wh", 1800.0), ("1kWh", 3.6e6), ("800mJ", 0.8)]
)
def test_an_energy_takes_joules_and_watt_hours(text, expected):
    assert units.parse_joules(text) == pytest.approx(expected)


@pytest.mark.parametrize(("text", "expected"), [("800mW", 0.8), ("15W", 15.0), ("2kW", 2000.0)])
def test_a_power_is_read_in_watts(text, expected):
    assert units.parse_watts(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (units.parse_bytes, "1e300PB"),
        (units.parse_bps, "1e308B/s"),
        (units.parse_seconds, "1e308d"),
        (units.parse_joules, "1e308Wh"),
        (units.parse_watts, "1e300PW"),
    ],
)
def test_too_large_number_is_refused(parse, text):
    with pytest.raises(InvalidUnit, match="is too large"):
        parse(text)


@pytest.mark.parametrize("text", ["1.2", "0.5", "1e-3"])
def test_size_in_bytes_must_be_an_integer(text):
    with pytest.raises(InvalidUnit, match="has no unit; write it like 64KiB"):
        units.parse_bytes(text)


@pytest.mark.parametrize(
    ("parse", "example"),
    [
        (units.parse_bps, "500Mbps"),
        (units.parse_seconds, "90s"),
        (units.parse_joules, "4kJ"),
        (units.parse_watts, "15W"),
    ],
)
@pytest.mark.parametrize("text", ["100", " 1e3 ", "0"])
def test_a_number_without_a_unit_is_refused_with_an_example(parse, example, text):
    with pytest.raises(InvalidUnit, match=f"has no unit; write it like .*{example}"):
        parse(text)


@pytest.mark.parametrize(
    "parse",
    [
        units.parse_bps,
        units.parse_bytes,
        units.parse_seconds,
        units.parse_joules,
        units.parse_watts,
        units.parse_fraction,
    ],
)
@pytest.mark.parametrize("text", ["", "fast", "-5", "5 parsecs", "nan", "1e999", "5 5"])
def test_nonsense_is_refused_with_the_text_in_the_message(parse, text):
    with pytest.raises(InvalidUnit) as refused:
        parse(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(("text", "expected"), [("90%", 0.9), ("0.9", 0.9), ("100%", 1.0)])
def test_a_fraction_may_be_written_in_per_cent(text, expected):
    assert units.parse_fraction(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["0%", "101%", "1.01", "0"])
def test_a_fraction_outside_its_range_is_refused(text):
    with pytest.raises(InvalidUnit, match="fraction"):
        units.parse_fraction(text)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused_but_nothing_else(text):
    for parse in (units.parse_bps, units.parse_bytes, units.parse_seconds, units.parse_joules):
        try:
            assert parse(text) >= 0
        except InvalidUnit:
            continue


@given(st.floats(min_value=1.0, max_value=1e15))
def test_a_formatted_rate_is_read_back_within_its_three_digits(rate_bps):
    assert units.parse_bps(units.format_bps(rate_bps)) == pytest.approx(rate_bps, rel=6e-3)


def test_throughput_converts_bytes_to_bits():
    assert units.compute_throughput_bps(1000, 2.0) == 4000.0


def test_counts_agree_with_their_nouns():
    told = [units.format_count(number, "row") for number in (0, 1, 2)]
    assert told == ["0 rows", "1 row", "2 rows"]
    assert units.format_count(3, "batch", "batches") == "3 batches"
    assert units.format_count(1, "batch", "batches") == "1 batch"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (999.4, "999 bit/s"),
        (999.9, "1 kbit/s"),
        (999_999_999.0, "1 Gbit/s"),
        (94.16e6, "94.2 Mbit/s"),
        (0.0, "0 bit/s"),
    ],
)
def test_rate_is_formatted_with_three_digits_and_a_prefix(value, told):
    assert units.format_bps(value) == told


@pytest.mark.parametrize(
    ("probability", "expected"),
    [
        (0.9, "90 %"),
        (0.994, "99 %"),
        (0.9951, "99.5 %"),
        (0.999, "99.9 %"),
        (0.9999986, "> 99.9 %"),
        (1.0, "> 99.9 %"),
        (0.004, "0.4 %"),
        (0.0, "< 0.1 %"),
    ],
)
def test_probability_is_never_shown_as_certain(probability, expected):
    assert units.format_probability(probability) == expected


@given(st.floats(0, 1))
def test_no_probability_is_shown_as_0_or_100_percent(probability):
    assert units.format_probability(probability) not in {"0 %", "100 %", "0.0 %", "100.0 %"}


@pytest.mark.parametrize(
    ("elapsed_s", "expected"),
    [(12.34, "12.3 s"), (0.96, "1.0 s"), (0.434, "0.43 s"), (0.0412, "41 ms"), (0.0012, "1.2 ms"), (0.0, "0 ms")],
)
def test_short_durations_have_two_digits(elapsed_s, expected):
    assert units.format_elapsed_seconds(elapsed_s) == expected
