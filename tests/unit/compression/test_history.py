"""What a history expects of a case, and how sure it is of that."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.compression.known import PROBE, ZSTD, case, observed
from tradewind.compression.content import Kind
from tradewind.compression.history import MAX_CORES, CodecObservation, CompressionCase, Estimate, History
from tradewind.compression.model import Speeds

cases = st.builds(
    case,
    file_bytes=st.sampled_from([10**5, 10**7]),
    kind=st.sampled_from([Kind.TEXT, Kind.TABLE]),
    cpu_class=st.sampled_from(["x86-64/a/2", "x86-64/b/1", "arm/c/1"]),
    probe=st.sampled_from([PROBE, PROBE._replace(ratio=1.4)]),
)
speeds = st.builds(Speeds, st.floats(1.5, 6), st.floats(2e8, 2e9), st.floats(1e9, 9e9))
observations = st.builds(CodecObservation, case=cases, setting=st.just(ZSTD), speeds=speeds)


def as_expected(history: History, of: CompressionCase) -> CodecObservation:
    expected = history.predict_speeds(ZSTD, of)
    assert expected is not None
    return CodecObservation(case=of, setting=ZSTD, speeds=expected.speeds)


@given(st.lists(observations, min_size=1, max_size=60), cases)
def test_to_see_what_was_expected_makes_no_setting_count_for_less(
    past: list[CodecObservation], of: CompressionCase
) -> None:
    before = History.of(past)
    after = before.extend([as_expected(before, of)])
    assert after.predict_speeds(ZSTD, of).weight > before.predict_speeds(ZSTD, of).weight


@given(speeds, st.integers(1, 40), cases, cases)
def test_to_see_what_was_expected_makes_it_surer(
    made: Speeds, times: int, known: CompressionCase, of: CompressionCase
) -> None:
    history = History.of([CodecObservation(case=known, setting=ZSTD, speeds=made)] * times)
    spread = history.predict_speeds(ZSTD, of).log_sd
    for _ in range(5):
        history = history.extend([as_expected(history, of)])
        now = history.predict_speeds(ZSTD, of)
        assert all(mine <= its + 1e-12 for mine, its in zip(now.log_sd, spread, strict=True))
        spread = now.log_sd


def test_an_observation_counts_by_how_much_of_its_key_the_case_shares() -> None:
    history = History.of([observed(ZSTD, 5.0, 1600)])
    other_machine, other_kind = case(cpu_class="x86_64/b/2"), case(kind=Kind.TABLE)
    other_architecture = case(cpu_class="arm/b/2")
    counted = [
        history.predict_speeds(ZSTD, of).weight for of in (case(), other_machine, other_kind, other_architecture)
    ]
    assert counted == [1.0, 0.5, 0.25, 1 / 32]
    # 0.03² + 0.35² / (1 + 0.5), of a machine never seen
    assert history.predict_speeds(ZSTD, other_machine).log_sd == pytest.approx([math.sqrt(0.0009 + 0.1225 / 1.5)] * 3)


def test_estimate_forgets_old_observations() -> None:
    estimate = Estimate()
    for x in [0.0] * 50 + [1.0] * 20:
        estimate = estimate.update((x, x, x))
    assert estimate.mean[0] == pytest.approx(1 - 0.95**20)
    assert estimate.observations == 70


@pytest.mark.parametrize(
    ("cpu_class", "cores"),
    [
        ("x86-64/amd-epyc/16", 16),
        ("x86-64/xeon/0", 1),
        ("x86-64/xeon/99999", MAX_CORES),
        ("arm/cortex-a72", 1),
        ("server/12", 1),
        ("a/b/c/12", 1),
        ("unknown", 1),
        ("12", 1),
    ],
)
def test_core_count_is_third_part_of_cpu_class(cpu_class: str, cores: int) -> None:
    assert case(cpu_class=cpu_class).cores == cores
