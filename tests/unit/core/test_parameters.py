from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import InvalidValue
from tradewind.parameters import NO_CAPS, UNTUNED, Caps, Lattice, Parameters

small = st.integers(min_value=1, max_value=128)
settings = st.builds(Parameters, concurrency=small, parallelism=small, pipelining=small)
caps = st.builds(
    Caps,
    concurrency=st.none() | small,
    parallelism=st.none() | small,
    pipelining=st.none() | small,
    streams=st.none() | small,
)


def test_streams_are_files_times_streams_a_file():
    assert Parameters(concurrency=4, parallelism=3).streams == 12
    assert Parameters().streams == 1


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"parallelism": -1}, {"pipelining": -1}, {"frequency_hz": 0.5}])
def test_a_setting_that_cannot_be_is_refused_by_name(wrong):
    with pytest.raises(InvalidValue, match=f"parameters.{next(iter(wrong))}"):
        Parameters(**wrong)


def test_unknown_is_not_one():
    assert Parameters(concurrency=4).list_known() == {"concurrency": 4}
    assert UNTUNED.list_known() == {"concurrency": 1, "parallelism": 1, "pipelining": 1}


@given(settings, caps)
def test_a_clamped_setting_is_allowed(setting, limit):
    assert limit.allow(limit.clamp(setting))


@given(settings, caps)
def test_a_setting_within_its_caps_is_not_touched(setting, limit):
    if limit.allow(setting):
        assert limit.clamp(setting) == setting


@given(settings, caps, caps)
def test_the_stricter_of_two_caps_allows_what_both_allow(setting, one, other):
    assert one.tighten(other).allow(setting) == (one.allow(setting) and other.allow(setting))


@given(
    st.lists(st.integers(min_value=0, max_value=10**12), min_size=1, max_size=3).filter(any),
    st.integers(min_value=3, max_value=40),
)
def test_parts_of_a_cap_add_up_to_no_more_than_it(chunk_bytes, cap):
    shares = [each / sum(chunk_bytes) for each in chunk_bytes]
    parts = [Caps(concurrency=cap, streams=cap).take_part(share, len(shares)) for share in shares]
    assert sum(part.concurrency for part in parts) <= cap
    assert sum(part.streams for part in parts) <= cap
    assert min(part.concurrency for part in parts) >= 1


def test_channels_are_bounded_by_files_and_by_streams():
    caps = (Caps(concurrency=8, streams=6), Caps(concurrency=4), Caps(streams=5), Caps())
    assert [each.channels for each in caps] == [6, 4, 5, None]


def test_parallelism_is_given_up_before_concurrency():
    clamped = Caps(streams=8).clamp(Parameters(concurrency=8, parallelism=4, pipelining=2))
    assert (clamped.concurrency, clamped.parallelism, clamped.pipelining) == (8, 1, 2)


def test_a_cap_below_one_is_refused():
    with pytest.raises(InvalidValue, match=r"limits\.streams"):
        Caps(streams=0)


def test_a_lattice_spans_the_observed_range_and_keeps_observed_values():
    lattice = Lattice.spanning({"concurrency": (1, 5, 16), "pipelining": (0, 4), "frequency_hz": (1.2e9, 2.3e9)})
    assert lattice.values["concurrency"] == (1, 2, 3, 4, 5, 6, 8, 12, 16)
    assert lattice.values["pipelining"] == (0, 1, 2, 4)
    assert lattice.values["frequency_hz"] == (1.2e9, 2.3e9)
    assert lattice.axes == ("concurrency", "pipelining", "frequency_hz")


def test_a_lattice_knows_the_place_of_each_of_its_settings_and_of_no_other():
    lattice = Lattice.spanning({"concurrency": (1, 5, 16), "pipelining": (0, 4), "frequency_hz": (1.2e9, 2.3e9)})
    place = lattice.build_place_finder()
    assert [place(each) for each in lattice.list_settings()] == list(range(len(lattice)))
    assert [lattice.get_setting(n) for n in range(len(lattice))] == list(lattice.list_settings())
    inside = Parameters(concurrency=4, pipelining=2, frequency_hz=1.2e9)
    beside = Parameters(concurrency=7), Parameters(parallelism=2), Parameters(frequency_hz=None)
    assert place(inside) is not None
    assert [place(replace(inside, **each.list_known())) for each in beside] == [None, None, place(inside)]
    assert place(replace(inside, frequency_hz=None)) is None


def test_lattice_settings_run_in_c_order():
    lattice = Lattice.spanning({"concurrency": (1, 2), "parallelism": (1, 3)})
    points = [(s.concurrency, s.parallelism) for s in lattice.list_settings()]
    assert points == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert len(lattice) == len(points)
    assert lattice.shape == (2, 3)
    assert NO_CAPS.allow(Parameters(concurrency=64, parallelism=16))
