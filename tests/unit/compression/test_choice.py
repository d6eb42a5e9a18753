"""What history tells, and the choice before and on the way."""

import os
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest

from tradewind.compression.advice import Objective, Question, advise
from tradewind.compression.codecs import Codec, Setting, candidates, parse_setting
from tradewind.compression.content import SAMPLE_BLOCK_BYTES, Content, Kind, content_of, kind_of, sample_offsets
from tradewind.compression.history import NO_HISTORY, Case, History, Observation
from tradewind.compression.model import Line, Mode, Speeds
from tradewind.compression.prior import packaged_history, usual_probe
from tradewind.compression.prior_table import CPU_CLASS, ROWS
from tradewind.compression.steering import Packed, Steering
from tradewind.errors import InvalidValue
from tradewind.wire.compression import AdviceAnswer
from tradewind_agent.compression.asking import request_for
from tradewind_agent.compression.frames import encode_failure
from tradewind_agent.compression.observing import observations_of
from tradewind_agent.compression.packing import PackedFile, Work
from tradewind_agent.compression.planning import Wish, steered
from tradewind_agent.compression.sampling import Sample, sample_file

PROBE = Speeds(4.0, 400e6, 1600e6)
XZ, ZSTD, GZIP = Setting(Codec.XZ, 0), Setting(Codec.ZSTD, 3), Setting(Codec.GZIP, 1)


def case(**changes: object) -> Case:
    told = {"file_bytes": 30_000_000, "kind": Kind.TEXT, "cpu_class": "x86_64/a/2", "probe": PROBE} | changes
    return Case(**told)  # type: ignore[arg-type]


def seen(setting: Setting, ratio: float, mbps: float, **changes: object) -> Observation:
    return Observation(case=case(**changes), setting=setting, speeds=Speeds(ratio, mbps * 1e6, 4 * mbps * 1e6))


HISTORY = History.of([seen(XZ, 8.0, 80), seen(ZSTD, 5.0, 1600), seen(GZIP, 4.0, 400)])


def question(rate_mbps: float, **changes: object) -> Question:
    told = {"case": case(), "line": Line(rate_mbps * 1e6), "settings": candidates()} | changes
    return Question(**told)  # type: ignore[arg-type]


def test_a_slow_path_is_worth_the_slow_codec_and_a_fast_one_the_quick_codec() -> None:
    assert advise(question(4), HISTORY).best.setting == XZ
    assert advise(question(100), HISTORY).best.setting == ZSTD


def test_raw_is_advised_where_every_codec_is_slower_than_the_path() -> None:
    advice = advise(question(5000), HISTORY)
    assert (advice.best.mode, advice.best.setting) == (Mode.RAW, None)
    assert "as it is" in advice.rationale


def test_a_sample_that_hardly_packs_is_sent_as_it_is() -> None:
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


def test_of_what_was_not_sampled_nothing_is_told_by_a_sample() -> None:
    unknown = case(kind=Kind.BINARY, probe=usual_probe(Kind.BINARY))
    assert not advise(question(4, case=unknown, sampled=False), packaged_history()).incompressible
    advice = advise(question(1000, case=unknown, sampled=False), packaged_history())
    assert advice.rationale == "not sampled, and binary content is taken not to pack: sent as it is"


@pytest.mark.parametrize("file_bytes", [50_000, 5_000_000, 50_000_000, 5_000_000_000])
@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.TABLE, Kind.PROGRAM])
def test_the_packaged_measurements_of_a_kind_hold_for_files_of_any_size(kind: Kind, file_bytes: int) -> None:
    asked = Case(
        file_bytes=file_bytes, kind=kind, cpu_class=f"{CPU_CLASS.rpartition('/')[0]}/1", probe=usual_probe(kind)
    )
    for (codec, level), rows in ROWS.items():
        expected = packaged_history().expected(Setting(Codec(codec), level), asked)
        assert expected is not None
        assert expected.speeds.ratio == pytest.approx(rows[kind][0], rel=0.2)
        assert expected.speeds.compress_bps == pytest.approx(rows[kind][1] * 1e6, rel=0.6)


def test_least_energy_is_told_in_joules() -> None:
    frugal = question(4, objective=Objective.MIN_ENERGY)
    assert "J above idle, sent raw" in advise(frugal, HISTORY).rationale
    costly = question(4, objective=Objective.MIN_ENERGY, cpu_w=1e5)
    assert advise(costly, HISTORY).rationale == "no codec is expected to take less energy: sent as it is"


def test_least_energy_may_be_another_codec_than_the_fastest() -> None:
    assert advise(question(4, cpu_w=60.0), HISTORY).best.setting == XZ
    assert advise(question(4, cpu_w=60.0, objective=Objective.MIN_ENERGY), HISTORY).best.setting == ZSTD


@pytest.mark.parametrize("cores", [1, 4, 64])
def test_packing_takes_the_same_energy_on_any_number_of_cores(cores: int) -> None:
    pigz, gzip = Setting(Codec.PIGZ, 6), Setting(Codec.GZIP, 6)
    alone = "x86_64/a/1"
    history = History.of([seen(pigz, 4.0, 300, cpu_class=alone), seen(gzip, 4.0, 300, cpu_class=alone)])
    here = case(cpu_class=f"x86_64/a/{cores}")
    asked = question(40, case=here, settings=(pigz, gzip), cpu_w=10.0, network_w=0.0, objective=Objective.MIN_ENERGY)
    energies_j = {each.setting: each.energy_j for each in advise(asked, history).options}
    packing_s, unpacking_s = 240e6 / 300e6, 240e6 / 1200e6
    assert energies_j[pigz] == pytest.approx(10 * (packing_s + unpacking_s))
    assert energies_j[gzip] == pytest.approx(energies_j[pigz])


def test_a_machine_never_seen_is_judged_by_its_probe() -> None:
    slow = case(cpu_class="aarch64/b/4", probe=Speeds(4.0, 40e6, 160e6))
    expected = HISTORY.expected(XZ, slow)
    assert expected is not None
    assert expected.speeds.compress_bps == pytest.approx(16e6)  # a tenth, as the probe is, by twice the cores
    assert expected.speeds.ratio == pytest.approx(8.0)


def test_own_observations_outweigh_those_of_other_machines() -> None:
    others = [seen(XZ, 8.0, 80, cpu_class=f"x86_64/{name}/2") for name in "bcd"]
    own = [seen(XZ, 8.0, 20) for _ in range(10)]
    expected = History.of([*others, *own]).expected(XZ, case())
    assert expected is not None
    assert 20e6 < expected.speeds.compress_bps < 30e6


def test_the_doubt_shrinks_with_observations() -> None:
    one = History.of([seen(XZ, 8.0, 80)]).expected(XZ, case())
    many = History.of([seen(XZ, 8.0, 80)] * 20).expected(XZ, case())
    assert one is not None
    assert many is not None
    assert many.log_sd[0] < one.log_sd[0]


def test_nothing_is_known_without_history() -> None:
    assert NO_HISTORY.expected(XZ, case()) is None
    assert "nothing is known" in advise(question(4), NO_HISTORY).rationale


def test_the_packaged_history_tells_of_every_setting_that_is_weighed() -> None:
    assert {Setting(Codec(codec), level) for codec, level in ROWS} == set(candidates())


def test_the_packaged_history_tells_of_every_usual_codec_on_any_machine() -> None:
    stranger = case(cpu_class="riscv64/x/1", probe=usual_probe(Kind.TEXT))
    expected = packaged_history().expected(Setting(Codec.XZ, 1), stranger)
    assert expected is not None
    assert expected.speeds.ratio > usual_probe(Kind.TEXT).ratio


def test_an_observation_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="above 0 and finite"):
        seen(XZ, 0.0, 80)


@pytest.mark.parametrize(
    ("text", "setting"), [("zstd", Setting(Codec.ZSTD, 3)), ("XZ:0", XZ), ("bzip2", Setting(Codec.BZIP2, 9))]
)
def test_a_setting_is_read_from_text(text: str, setting: Setting) -> None:
    assert parse_setting(text) == setting


@pytest.mark.parametrize("text", ["zip", "gzip:0", "gzip:10", "gzip:x", "zstd:"])
def test_a_codec_or_level_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="codec"):
        parse_setting(text)


def test_kinds_are_told_by_the_first_bytes() -> None:
    assert kind_of(b"\x1f\x8b\x08") is Kind.PACKED
    assert kind_of(b"\x7fELF\x02") is Kind.PROGRAM
    assert kind_of(b"a,b,c\n1,2,3\n") is Kind.TABLE
    assert kind_of(b"To be, or not\nto be\n") is Kind.TEXT
    assert kind_of(b"") is Kind.BINARY


def test_a_sample_is_taken_at_places_that_no_period_of_the_file_decides() -> None:
    for file_bytes in (3 * SAMPLE_BLOCK_BYTES + 1, 10**7):
        for places in ((0.0, 0.0), (0.3, 0.7), (1.0, 1.0)):
            offsets = sample_offsets(file_bytes, places)
            assert offsets[0] == 0
            assert all(later - sooner >= SAMPLE_BLOCK_BYTES for sooner, later in pairwise(offsets))
            assert offsets[-1] + SAMPLE_BLOCK_BYTES <= file_bytes
    assert sample_offsets(10**7, (0.3, 0.7)) != sample_offsets(10**7, (0.4, 0.6))


def test_raw_by_another_way_is_compared_with_what_it_reaches_there() -> None:
    packed = advise(question(50), HISTORY).best
    assert packed.setting is not None
    assert advise(question(50, raw_bps=1.1 * packed.throughput_bps.high), HISTORY).best.setting is None
    assert advise(question(50, raw_bps=0.5 * packed.throughput_bps.low), HISTORY).best == packed


def test_random_bytes_look_random_and_text_does_not() -> None:
    assert content_of([random.Random(1).randbytes(100_000)]).looks_random
    assert not content_of([b"to be or not to be " * 1000]).looks_random


def steering(setting: Setting | None, line_mbps: float | None) -> Steering:
    return Steering(
        expected={XZ: Speeds(8.0, 80e6, 320e6), ZSTD: Speeds(5.0, 1600e6, 6400e6)},
        line_bps=None if line_mbps is None else line_mbps * 1e6,
        setting=setting,
    )


def test_a_path_that_becomes_fast_makes_the_level_light_and_back() -> None:
    steered = steering(XZ, 4)
    for _ in range(3):
        steered = steered.seen(Packed(steered.setting, 8.0, 80e6, 100e6))
    assert steered.setting == ZSTD
    for _ in range(3):
        steered = steered.seen(Packed(steered.setting, 5.0, 1600e6, 4e6))
    assert steered.setting == XZ


def test_a_path_that_waits_for_the_packing_is_believed_to_carry_more_until_it_is_seen_what() -> None:
    steered = steering(XZ, 10.0)
    for _ in range(3):
        idle = Packed(steered.setting, 8.0, 80e6, None, idle_at_bps=10e6)
        steered = steered.seen(idle)
    assert 10e6 < steered.line_bps <= 20e6  # twice what goes over it, in steps
    assert steered.seen(Packed(XZ, 8.0, 80e6, None, idle_at_bps=1e6)).line_bps == steered.line_bps
    assert steered.seen(Packed(XZ, 8.0, 80e6, 4e6)).line_bps < 10e6


def test_an_upload_over_a_path_much_faster_than_believed_packs_lighter_on_the_way(tmp_path: Path) -> None:
    content = b"".join(b"%d,%d,%.3f\n" % (row, row * row % 977, (row % 50) / 7) for row in range(600_000))
    (tmp_path / "table.csv").write_bytes(content)
    sample = sample_file(tmp_path / "table.csv")
    begun = steered(Wish(None), sample, 5e6, frozenset({Codec.XZ, Codec.ZSTD, Codec.LZ4}))
    packed = packed_with(content, begun, tmp_path)  # whose receiver takes each piece at once
    assert packed.steering.line_bps > 2 * begun.line_bps
    assert packed.steering.expected[packed.steering.setting].compress_bps > begun.expected[begun.setting].compress_bps


def test_blocks_that_would_keep_a_core_busy_for_long_are_small(tmp_path: Path) -> None:
    slow = Setting(Codec.GZIP, 9)
    content = random.Random(7).randbytes(1000) * 3000
    slowly = Steering(expected={slow: Speeds(100.0, 0.5e6, 1e9)}, line_bps=1e6, setting=slow)
    (tmp_path / "file").write_bytes(content)
    with (tmp_path / "file").open("rb") as file:
        status = os.fstat(file.fileno())
        pieces = list(PackedFile(file.fileno(), status, slowly, adapt=False).pieces())
    assert len(pieces) == -(-len(content) // (5 * 500_000 // 8)) + 1  # and the end


def test_a_codec_that_fails_is_no_fault_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lzop").write_text("#!/bin/sh\necho no more memory >&2\nexit 3\n")
    (tmp_path / "lzop").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    lzop = Setting(Codec.LZOP, 3)
    (tmp_path / "file").write_bytes(b"x" * 300_000)
    with (tmp_path / "file").open("rb") as file:
        packed = PackedFile(file.fileno(), os.fstat(file.fileno()), Steering(expected={}, line_bps=None, setting=lzop))
        (failure,) = packed.pieces()
    assert failure == encode_failure(str(packed.failure))
    assert str(packed.failure) == "lzop:3 cannot pack it: lzop failed: no more memory"


def test_a_path_faster_than_every_codec_makes_it_raw() -> None:
    steered = steering(ZSTD, 50)
    for _ in range(3):
        steered = steered.seen(Packed(steered.setting, 5.0, 1600e6, 4e9))
    assert steered.setting is None


def test_content_that_stops_packing_makes_it_raw() -> None:
    steered = steering(ZSTD, 300)
    for _ in range(20):
        steered = steered.seen(Packed(steered.setting, 1.0, 1600e6, 300e6))
    assert steered.setting is None


def test_a_setting_is_not_left_for_a_small_gain() -> None:
    steered = steering(XZ, 15)  # xz 80 Mbit/s, zstd 75
    assert steered.seen(Packed(XZ, 8.0, 80e6, 16.5e6)).setting == XZ


def packed_with(content: bytes, steered: Steering, folder: Path) -> PackedFile:
    source = folder / "source"
    source.write_bytes(content)
    with source.open("rb") as opened:
        file = PackedFile(opened.fileno(), source.stat(), steered)
        assert sum(1 for _ in file.pieces()) > 1
    return file


def test_a_file_whose_sample_was_random_is_packed_once_its_content_is(tmp_path: Path) -> None:
    raw = replace(steering(None, 4), ratio_exponent=0.0)
    file = packed_with(random.Random(1).randbytes(1_000_000) + b"to be or not to be " * 500_000, raw, tmp_path)
    packed_bytes = sum(plain for setting, plain in file.work.used.items() if setting is not None)
    assert packed_bytes > file.work.plain_bytes / 3


def test_a_setting_that_makes_blocks_no_smaller_is_left(tmp_path: Path) -> None:
    file = packed_with(random.Random(1).randbytes(6_000_000), steering(ZSTD, 4), tmp_path)
    assert file.steering.setting is None
    assert file.steering.ratio_exponent < 0.2


def test_what_the_service_expects_is_what_steering_begins_with(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"to be or not to be " * 10_000)
    sample = sample_file(source)
    asked = request_for(sample, Line(4e6), frozenset({Codec.GZIP, Codec.ZSTD}))
    history = History.of([seen(GZIP, 4.0, 400), seen(ZSTD, 5.0, 1600)])
    advice = AdviceAnswer.of(advise(asked.to_question(usual_probe(Kind.TEXT)), history), sampled=True, source="tests")
    steered_by = steered(Wish.parse("auto"), sample, 4e6, frozenset(Codec), advice=advice)
    assert set(steered_by.expected) == {GZIP, ZSTD}
    assert steered_by.expected[ZSTD].ratio == pytest.approx(advice.best.ratio)


@pytest.mark.parametrize(
    "figures", ["1e6;4e8;1e9", "1e-3;4e8;1e9", "1e14;4e8;1e9", "4;1;1e9", "4;4e8;1e15", "nan;4e8;1e9"]
)
def test_a_sample_that_nobody_could_be_asked_about_is_not_taken(figures: str) -> None:
    assert Sample.read(f"x86-64/some/4;text;5.5;{figures}", 1000) is None


@pytest.mark.parametrize("figures", ["999999;4e8;1e9", "0.0011;4e8;1e9", "4;1.1;999e12"])
def test_a_sample_that_is_taken_can_be_asked_about(figures: str) -> None:
    sample = Sample.read(f"x86-64/some/4;text;5.5;{figures}", 1000)
    assert sample is not None
    assert request_for(sample, Line(4e6), frozenset({Codec.GZIP})).probe is not None


def test_what_a_server_tells_of_no_machine_is_no_observation() -> None:
    sample = Sample.read("x86-64/some/9999999;text;5.5;4;4e8;1e9", 4_000_000)
    assert sample is not None
    work = Work()
    work.tried(ZSTD, 4_000_000, 1_000_000, pack_s=1e-6, unpack_s=0.01)
    assert observations_of(work, sample, uuid4(), "a", fetched=b"to be or not to be " * 10_000) == ()
    work.tried(GZIP, 4_000_000, 1_000_000, pack_s=0.1, unpack_s=0.01)
    (seen,) = observations_of(work, sample, uuid4(), "a", fetched=b"to be or not to be " * 10_000)
    assert seen.codec is Codec.GZIP
