"""What history tells, and the choice that follows from it."""

import random
from dataclasses import replace
from email.message import Message
from itertools import pairwise
from uuid import uuid4

import pytest

from tests.unit.compression.known import GZIP, HISTORY, XZ, ZSTD, case, observed, question
from tradewind.compression.advice import Objective, advise
from tradewind.compression.codecs import Codec, CodecSetting, list_candidate_settings, parse_setting
from tradewind.compression.content import (
    SAMPLE_BLOCK_BYTES,
    SAMPLE_BLOCKS,
    Content,
    Kind,
    detect_kind,
    inspect_content,
    list_sample_offsets,
)
from tradewind.compression.history import NO_HISTORY, CompressionCase, History
from tradewind.compression.model import Mode, NetworkLine, Speeds
from tradewind.compression.prior import build_typical_probe, load_packaged_history
from tradewind.compression.prior_table import CPU_CLASS, ROWS
from tradewind.errors import InvalidValue
from tradewind_agent.compression.advising import make_advice_request
from tradewind_agent.compression.file_classes import ClassProbe, parse_server_sample
from tradewind_agent.compression.observations import observe_codecs, observe_samples
from tradewind_agent.compression.sampling import FileSample
from tradewind_agent.compression.totals import PackingTotals


def test_a_slow_path_is_worth_the_slow_codec_and_a_fast_one_the_quick_codec() -> None:
    assert advise(question(4), HISTORY).best.setting == XZ
    assert advise(question(100), HISTORY).best.setting == ZSTD


def test_raw_is_advised_where_every_codec_is_slower_than_the_path() -> None:
    advice = advise(question(5000), HISTORY)
    assert (advice.best.mode, advice.best.setting) == (Mode.RAW, None)
    assert "as it is" in advice.rationale


def test_barely_compressible_sample_is_sent_raw() -> None:
    advice = advise(question(4, case=case(probe=Speeds(1.01, 4e8, 1e9))), HISTORY)
    assert advice.incompressible
    assert advice.best.mode is Mode.RAW
    assert advice.rationale.startswith("a sample hardly packs")


@pytest.mark.parametrize(("sampled", "incompressible"), [(False, True), (True, False)])
def test_bytes_that_look_random_are_believed_to_be_where_nobody_has_packed_them(
    sampled: bool, incompressible: bool
) -> None:
    advice = advise(question(4, content=Content(Kind.BINARY, 7.95), sampled=sampled), HISTORY)
    assert advice.incompressible is incompressible
    assert (advice.best.mode is Mode.RAW) is incompressible


def test_content_without_a_sample_gets_no_advice_from_a_sample() -> None:
    unknown = case(kind=Kind.BINARY, probe=build_typical_probe(Kind.BINARY))
    for objective in Objective:
        for mbps in (4, 10, 100, 1000):
            asked = question(mbps, case=unknown, sampled=False, settings=list_candidate_settings(), objective=objective)
            advice = advise(asked, load_packaged_history())
            assert not advice.incompressible
            assert advice.best.mode is Mode.RAW
            assert advice.rationale == "not sampled, and binary content is taken not to pack: sent as it is"


@pytest.mark.parametrize("file_bytes", [50_000, 5_000_000, 50_000_000, 5_000_000_000])
@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.TABLE, Kind.PROGRAM])
def test_the_packaged_measurements_of_a_kind_hold_for_files_of_any_size(kind: Kind, file_bytes: int) -> None:
    asked = CompressionCase(
        file_bytes=file_bytes, kind=kind, cpu_class=f"{CPU_CLASS.rpartition('/')[0]}/1", probe=build_typical_probe(kind)
    )
    for (codec, level), rows in ROWS.items():
        expected = load_packaged_history().predict_speeds(CodecSetting(Codec(codec), level), asked)
        assert expected is not None
        assert expected.speeds.ratio == pytest.approx(rows[kind][0], rel=0.2)
        assert expected.speeds.compress_bps == pytest.approx(rows[kind][1] * 1e6, rel=0.6)


def test_set_up_of_packing_counts_against_packed_options_alone() -> None:
    plain, later = advise(question(100), HISTORY), advise(question(100, packing_setup_s=0.1), HISTORY)
    took_s = {each.setting: each.duration_s for each in plain.options}
    assert {each.setting: each.duration_s for each in later.options} == pytest.approx(
        {setting: seconds + (0.1 if setting else 0.0) for setting, seconds in took_s.items()}
    )
    assert advise(question(100, packing_setup_s=10.0), HISTORY).best.setting is None


def test_least_energy_is_reported_in_joules() -> None:
    frugal = question(4, objective=Objective.MIN_ENERGY)
    assert "J above idle, sent raw" in advise(frugal, HISTORY).rationale
    costly = question(4, objective=Objective.MIN_ENERGY, cpu_w=1e5)
    assert advise(costly, HISTORY).rationale == "no codec is expected to take less energy: sent as it is"


def test_the_network_takes_power_while_it_sends_alone() -> None:
    modes = (Mode.PIPED, Mode.SEQUENTIAL)
    asked = question(4, cpu_w=0.0, network_w=10.0, modes=modes, objective=Objective.MIN_ENERGY)
    for each in advise(asked, HISTORY).options:
        sent_s = 240e6 / (each.ratio * 4e6)
        at_least_j, at_most_j = 10 * (asked.line.setup_s + sent_s), 10 * each.duration_s
        expected_j = at_least_j if each.mode is Mode.SEQUENTIAL else at_most_j
        assert each.energy_j == pytest.approx(expected_j)


def test_least_energy_may_be_another_codec_than_the_fastest() -> None:
    assert advise(question(4, cpu_w=60.0), HISTORY).best.setting == XZ
    assert advise(question(4, cpu_w=60.0, objective=Objective.MIN_ENERGY), HISTORY).best.setting == ZSTD


@pytest.mark.parametrize("cores", [1, 4, 64])
def test_packing_takes_the_same_energy_on_any_number_of_cores(cores: int) -> None:
    pigz, gzip = CodecSetting(Codec.PIGZ, 6), CodecSetting(Codec.GZIP, 6)
    alone = "x86_64/a/1"
    history = History.of([observed(pigz, 4.0, 300, cpu_class=alone), observed(gzip, 4.0, 300, cpu_class=alone)])
    here = case(cpu_class=f"x86_64/a/{cores}")
    asked = question(40, case=here, settings=(pigz, gzip), cpu_w=10.0, network_w=0.0, objective=Objective.MIN_ENERGY)
    energies_j = {each.setting: each.energy_j for each in advise(asked, history).options}
    packing_s, unpacking_s = 240e6 / 300e6, 240e6 / 1200e6
    assert energies_j[pigz] == pytest.approx(10 * (packing_s + unpacking_s))
    assert energies_j[gzip] == pytest.approx(energies_j[pigz])


def test_a_machine_never_seen_is_judged_by_its_probe() -> None:
    slow = case(cpu_class="aarch64/b/4", probe=Speeds(4.0, 40e6, 160e6))
    expected = HISTORY.predict_speeds(XZ, slow)
    assert expected is not None
    assert expected.speeds.compress_bps == pytest.approx(16e6)  # a tenth, as the probe is, by twice the cores
    assert expected.speeds.ratio == pytest.approx(8.0)


def test_own_observations_outweigh_those_of_other_machines() -> None:
    others = [observed(XZ, 8.0, 80, cpu_class=f"x86_64/{name}/2") for name in "bcd"]
    own = [observed(XZ, 8.0, 20) for _ in range(10)]
    expected = History.of([*others, *own]).predict_speeds(XZ, case())
    assert expected is not None
    assert 20e6 < expected.speeds.compress_bps < 30e6


def test_the_doubt_shrinks_with_observations() -> None:
    one = History.of([observed(XZ, 8.0, 80)]).predict_speeds(XZ, case())
    many = History.of([observed(XZ, 8.0, 80)] * 20).predict_speeds(XZ, case())
    assert one is not None
    assert many is not None
    assert many.log_sd[0] < one.log_sd[0]


def test_nothing_is_known_without_history() -> None:
    assert NO_HISTORY.predict_speeds(XZ, case()) is None
    assert "nothing is known" in advise(question(4), NO_HISTORY).rationale


def test_packaged_history_covers_every_candidate_setting() -> None:
    assert {CodecSetting(Codec(codec), level) for codec, level in ROWS} == set(list_candidate_settings())


def test_packaged_history_covers_every_usual_codec_on_an_unknown_machine() -> None:
    stranger = case(cpu_class="riscv64/x/1", probe=build_typical_probe(Kind.TEXT))
    expected = load_packaged_history().predict_speeds(CodecSetting(Codec.XZ, 1), stranger)
    assert expected is not None
    assert expected.speeds.ratio > build_typical_probe(Kind.TEXT).ratio


def test_an_observation_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="above 0 and finite"):
        observed(XZ, 0.0, 80)


@pytest.mark.parametrize(
    ("text", "setting"), [("zstd", CodecSetting(Codec.ZSTD, 3)), ("XZ:0", XZ), ("bzip2", CodecSetting(Codec.BZIP2, 9))]
)
def test_a_setting_is_read_from_text(text: str, setting: CodecSetting) -> None:
    assert parse_setting(text) == setting


@pytest.mark.parametrize("text", ["zip", "gzip:0", "gzip:10", "gzip:x", "zstd:"])
def test_a_codec_or_level_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="codec"):
        parse_setting(text)


def test_kind_is_detected_from_the_first_bytes() -> None:
    assert detect_kind(b"\x1f\x8b\x08") is Kind.PACKED
    assert detect_kind(b"\x7fELF\x02") is Kind.PROGRAM
    assert detect_kind(b"a,b,c\n1,2,3\n") is Kind.TABLE
    assert detect_kind(b"To be, or not\nto be\n") is Kind.TEXT
    assert detect_kind(b"") is Kind.BINARY


def test_a_sample_is_taken_at_places_that_no_period_of_the_file_decides() -> None:
    for file_bytes in (SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES + 1, 10**7):
        for places in ([0.0] * 5, [0.3, 0.7, 0.0, 1.0, 0.5], [1.0] * 5):
            offsets = list_sample_offsets(file_bytes, places)
            assert offsets[0] == 0
            assert len(offsets) == SAMPLE_BLOCKS
            assert all(later - sooner >= SAMPLE_BLOCK_BYTES for sooner, later in pairwise(offsets))
            assert offsets[-1] + SAMPLE_BLOCK_BYTES <= file_bytes
    assert list_sample_offsets(10**7, [0.3] * 5) != list_sample_offsets(10**7, [0.4] * 5)


def test_raw_by_another_way_is_compared_with_what_it_reaches_there() -> None:
    packed = advise(question(50), HISTORY).best
    assert packed.setting is not None
    assert advise(question(50, raw_bps=1.1 * packed.throughput_bps.high), HISTORY).best.setting is None
    assert advise(question(50, raw_bps=0.5 * packed.throughput_bps.low), HISTORY).best == packed


def test_random_bytes_look_random_and_text_does_not() -> None:
    assert inspect_content([random.Random(1).randbytes(100_000)]).looks_random
    assert not inspect_content([b"to be or not to be " * 1000]).looks_random


@pytest.mark.parametrize(
    "figures", ["1e6;4e8;1e9", "1e-3;4e8;1e9", "1e14;4e8;1e9", "4;1;1e9", "4;4e8;1e15", "nan;4e8;1e9"]
)
def test_sample_that_no_advice_request_can_carry_is_rejected(figures: str) -> None:
    assert FileSample.parse(f"x86-64/some/4;text;5.5;{figures}", 1000) is None


@pytest.mark.parametrize("figures", ["999999;4e8;1e9", "0.0011;4e8;1e9", "4;1.1;999e12"])
def test_accepted_sample_makes_a_valid_advice_request(figures: str) -> None:
    sample = FileSample.parse(f"x86-64/some/4;text;5.5;{figures}", 1000)
    assert sample is not None
    assert make_advice_request(sample, NetworkLine(4e6), frozenset({Codec.GZIP})).probe is not None


def test_impossible_speed_of_a_sample_is_no_observation() -> None:
    told = FileSample.parse("x86-64/some/4;text;5.5;4;4e8;1e9", 4_000_000)
    assert told is not None
    sample = replace(told, blocks=(b"to be or not to be",))
    looked = ClassProbe(sample=sample, tried={ZSTD: Speeds(4.0, 1e9, 4e9), GZIP: Speeds(0.0, 1e9, 4e9)})
    (seen,) = observe_samples([looked, ClassProbe(sample=None)], uuid4())
    assert seen.codec is Codec.ZSTD


def test_sample_with_impossible_machine_is_no_observation() -> None:
    assert FileSample.parse("x86-64/some/9999999;text;5.5;4;4e8;1e9", 4_000_000) is None
    sample = FileSample.parse("x86-64/some/4096;text;5.5;4;4e8;1e9", 4_000_000)
    assert sample is not None
    work = PackingTotals()
    work.count_tried(ZSTD, 4_000_000, 1_000_000, pack_s=1e-6, unpack_s=0.01)
    assert observe_codecs(work, sample, uuid4(), "a", fetched=b"to be or not to be " * 10_000) == ()
    work.count_tried(GZIP, 4_000_000, 1_000_000, pack_s=0.1, unpack_s=0.01)
    (seen,) = observe_codecs(work, sample, uuid4(), "a", fetched=b"to be or not to be " * 10_000)
    assert seen.codec is Codec.GZIP


@pytest.mark.parametrize("level", ["9" * 5000, "100", "-1", "1.5", ""])
def test_a_level_of_no_codec_is_refused_however_long_it_is(level: str) -> None:
    with pytest.raises(InvalidValue, match="zstd has levels"):
        parse_setting(f"zstd:{level}")


def test_trials_of_a_server_are_believed_where_they_are_possible() -> None:
    fields = Message()
    fields["Tradewind-Sample"] = "x86-64/some/4;text;5.5;4;4e8;1e9"
    fields["Tradewind-Codecs"] = "zstd,gzip"
    fields["Tradewind-Tried"] = "zstd:3=3,1e9,4e9;zstd:5=3,1e9,4e9;xz:6=3,1e7,4e9;gzip:6=1e6,1e9,4e9"
    looked = parse_server_sample(fields, 4_000_000)
    assert looked is not None
    assert looked.tried == {ZSTD: Speeds(3, 1e9, 4e9)}
    fields.replace_header("Tradewind-Tried", f"zstd:{'9' * 5000}=3,1e9,4e9")
    damaged = parse_server_sample(fields, 4_000_000)
    assert damaged is not None
    assert damaged.tried == {}
