import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind import heuristics
from tradewind.dataset import bin_sizes, split_by_bdp
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.unknown_path.rules import ASSUMED_PATH, MOST_STREAMS, plan_cold_start, predict_total_bps

WAN = Path(bandwidth_bps=1e9, rtt_s=0.06)  # BDP 7.5 MB
MIXED = split_by_bdp(bin_sizes([100_000] * 1000 + [50_000_000] * 20 + [2_000_000_000] * 2), 7.5e6)
FASTEST = Sla(kind=SlaKind.MAX_THROUGHPUT)
AGREEMENTS = (
    FASTEST,
    Sla(kind=SlaKind.MIN_ENERGY),
    Sla(kind=SlaKind.ENERGY_EFFICIENCY),
    Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=5e8),
    Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.5),
    Sla(kind=SlaKind.DEADLINE, target=60),
    Sla(kind=SlaKind.ENERGY_AT_MOST, target=4_000),
    Sla(kind=SlaKind.POWER_AT_MOST, target=15),
)


def channels(plan):
    return sum(each.parameters.concurrency for each in plan)


@pytest.mark.parametrize(
    ("sla", "rule", "costly"),
    list(
        zip(
            AGREEMENTS,
            ("MaxThr", *["MaxThr of 4 channels"] * 2, *["FlexibleThr"] * 3, "MaxThr of 4 channels", "MinE"),
            (None, "MinE", "EE", None, None, None, "MinE", None),
            strict=True,
        )
    ),
    ids=str,
)
def test_rule_follows_from_the_sla_and_what_it_is_expected_to_take(sla, rule, costly):
    stated, _, reason = plan_cold_start(sla, MIXED, WAN).rationale.partition(": ")
    assert stated == f"closed-form rule {rule} for {sla.kind}"
    assert reason.partition(" is expected to take more energy, ")[0] == (costly or "")


def test_the_fastest_plan_is_max_thrs_within_the_files_there_are():
    ruled = {each.chunk: each.parameters for each in heuristics.plan_max_throughput(MIXED, WAN)}
    assert {each.chunk: each.parameters for each in plan_cold_start(FASTEST, MIXED, WAN).plan} == ruled


def test_small_buffers_ask_for_no_more_streams_than_a_path_carries():
    small_buffers = replace(WAN, buffer_bytes=65_536)
    streams = {each.parameters.streams for each in plan_cold_start(FASTEST, MIXED, small_buffers).plan}
    assert max(streams) <= MOST_STREAMS
    alone = split_by_bdp(bin_sizes([2_000_000_000]), 7.5e6)
    [only] = plan_cold_start(FASTEST, alone, small_buffers).plan
    assert only.parameters.parallelism == heuristics.MAX_PARALLELISM


def test_a_deadline_a_rate_and_a_share_of_the_path_are_one_target():
    total_bits = 8 * sum(chunk.dataset.total_bytes for chunk in MIXED)
    plans = [
        plan_cold_start(sla, MIXED, WAN).plan
        for sla in (
            Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=9e8),
            Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.9),
            Sla(kind=SlaKind.DEADLINE, target=total_bits / 9e8),
        )
    ]
    assert plans[0] == plans[1] == plans[2]


def test_efficiency_takes_fewer_channels_than_there_are_for_nearly_the_rate_of_all():
    plan = plan_cold_start(Sla(kind=SlaKind.ENERGY_EFFICIENCY), MIXED, WAN).plan
    fastest = plan_cold_start(FASTEST, MIXED, WAN).plan
    assert channels(plan) < channels(fastest)
    assert predict_total_bps(MIXED, plan, WAN) >= 0.9 * predict_total_bps(MIXED, fastest, WAN)


@pytest.mark.parametrize("sla", AGREEMENTS, ids=str)
def test_a_loaded_path_is_planned_as_one_with_the_bandwidth_that_is_left(sla):
    loaded = plan_cold_start(sla, MIXED, WAN, load=0.5)
    assert loaded.plan == plan_cold_start(sla, MIXED, Path(bandwidth_bps=5e8, rtt_s=0.06)).plan
    assert "at load 0.50" in loaded.rationale
    assert predict_total_bps(MIXED, loaded.plan, WAN, 0.5) <= 5e8


def test_rationale_lists_exactly_the_assumed_values():
    assert plan_cold_start(FASTEST, MIXED, UNKNOWN_PATH).plan == plan_cold_start(FASTEST, MIXED, ASSUMED_PATH).plan
    told = [
        plan_cold_start(FASTEST, MIXED, path).rationale
        for path in (UNKNOWN_PATH, Path(rtt_s=0.02), Path(bandwidth_bps=1e8), WAN)
    ]
    assert told[0].endswith(", assuming bandwidth 1 Gbit/s and RTT 50 ms")
    assert told[1].endswith(", assuming bandwidth 1 Gbit/s")
    assert told[2].endswith(", assuming RTT 50 ms")
    assert "assuming" not in told[3]


@given(
    st.sampled_from(AGREEMENTS),
    st.lists(st.integers(0, 2**42), min_size=1, max_size=40),
    st.builds(Path, bandwidth_bps=st.floats(1, 1e16), rtt_s=st.floats(1e-9, 1e5), buffer_bytes=st.floats(1, 1e15)),
    st.builds(Caps, concurrency=st.integers(1, 40), streams=st.integers(1, 40)) | st.just(NO_CAPS),
    st.none() | st.floats(0, 1),
)
def test_any_path_gets_a_plan_within_all_caps_with_a_file_for_every_channel(sla, sizes, path, caps, load):
    chunks = split_by_bdp(bin_sizes(sizes), path.bdp_bytes, caps.channels)
    plan = plan_cold_start(sla, chunks, path, caps, load).plan
    assert [each.chunk for each in plan] == [chunk.kind for chunk in chunks]
    assert channels(plan) <= (caps.concurrency or math.inf)
    assert sum(each.parameters.streams for each in plan) <= (caps.streams or math.inf)
    for each, chunk in zip(plan, chunks, strict=True):
        assert 1 <= each.parameters.concurrency <= chunk.dataset.file_count
    assert 0 < predict_total_bps(chunks, plan, path, load) <= path.bandwidth_bps
