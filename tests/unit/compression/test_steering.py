"""Settings that change on the way, and what becomes of blocks."""

import os
import random
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Event, Lock
from typing import Any
from unittest.mock import Mock
from zlib import crc32

import pytest

from tests.unit.compression.known import GZIP, XZ, ZSTD, observed
from tradewind.compression.advice import advise
from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.compression.content import Kind
from tradewind.compression.history import History
from tradewind.compression.model import MIN_BLOCK_BYTES, NetworkLine, Speeds, compute_block_bytes
from tradewind.compression.prior import build_typical_probe
from tradewind.compression.steering import PackedBlock, Steering
from tradewind.wire.compression import AdviceAnswer
from tradewind_agent.compression import packing, unpacking
from tradewind_agent.compression.advising import make_advice_request
from tradewind_agent.compression.frames import FrameReader, encode_failure
from tradewind_agent.compression.options import PackingOptions
from tradewind_agent.compression.packing import PackedFile
from tradewind_agent.compression.planning import PackingMode, plan_steering
from tradewind_agent.compression.sampling import FileSample, sample_descriptor, sample_file
from tradewind_agent.compression.unpacking import Unpacker

PATIENCE_S = 30.0


def steering(setting: CodecSetting | None, line_mbps: float | None) -> Steering:
    return Steering(
        expected={XZ: Speeds(8.0, 80e6, 320e6), ZSTD: Speeds(5.0, 1600e6, 6400e6)},
        line_bps=None if line_mbps is None else line_mbps * 1e6,
        setting=setting,
    )


def test_a_path_that_becomes_fast_makes_the_level_light_and_back() -> None:
    plan_steering = steering(XZ, 4)
    for _ in range(3):
        plan_steering = plan_steering.update(PackedBlock(plan_steering.setting, 8.0, 80e6, 100e6))
    assert plan_steering.setting == ZSTD
    for _ in range(3):
        plan_steering = plan_steering.update(PackedBlock(plan_steering.setting, 5.0, 1600e6, 4e6))
    assert plan_steering.setting == XZ


def test_a_path_that_waits_for_the_packing_is_believed_to_carry_more_until_it_is_seen_what() -> None:
    plan_steering = steering(XZ, 10.0)
    for _ in range(3):
        idle = PackedBlock(plan_steering.setting, 8.0, 80e6, None, idle_at_bps=10e6)
        plan_steering = plan_steering.update(idle)
    assert 10e6 < plan_steering.line_bps <= 20e6  # twice what goes over it, in steps
    assert plan_steering.update(PackedBlock(XZ, 8.0, 80e6, None, idle_at_bps=1e6)).line_bps == plan_steering.line_bps
    assert plan_steering.update(PackedBlock(XZ, 8.0, 80e6, 4e6)).line_bps < 10e6


def test_an_upload_over_a_path_much_faster_than_believed_packs_lighter_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    started = steering(XZ, 4)

    def pack_in_time(plain: bytes, setting: CodecSetting) -> bytes:
        nonlocal now_s
        now_s += 8 * len(plain) / started.expected[setting].compress_bps
        return bytes(int(len(plain) / started.expected[setting].ratio))

    monkeypatch.setattr(packing, "pack", pack_in_time)
    monkeypatch.setattr(packing, "count_usable_cores", lambda: 1)
    (tmp_path / "file").write_bytes(bytes(64_000_000))
    with (tmp_path / "file").open("rb") as file, PoolOfCaller() as pool:
        status = os.fstat(file.fileno())
        packed = PackedFile(file.fileno(), status, started, pool=pool, clock_s=lambda: now_s)
        for _ in packed.encode_pieces():  # whose receiver takes each piece at once
            pass
    assert packed.steering.line_bps > 2 * started.line_bps
    assert packed.steering.setting == ZSTD


class PoolOfCaller(ThreadPoolExecutor):
    """Work is done by who submits it: a clock of the test's own then never runs while a piece is sent."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def test_blocks_that_would_keep_a_core_busy_for_long_are_small(tmp_path: Path) -> None:
    slow = CodecSetting(Codec.GZIP, 9)
    content = random.Random(7).randbytes(1000) * 3000
    slowly = Steering(expected={slow: Speeds(100.0, 0.5e6, 1e9)}, line_bps=1e6, setting=slow)
    expected = block_sizes(content, slowly, tmp_path)
    assert expected[0] == 5 * 500_000 // 8
    seconds = count(step=10.0)
    by_hand = Steering(expected={}, line_bps=None, setting=slow)
    seen = block_sizes(content, by_hand, tmp_path, clock_s=lambda: next(seconds))
    assert (seen[0], seen[-2]) == (compute_block_bytes(len(content)), MIN_BLOCK_BYTES)


def block_sizes(content: bytes, steering: Steering, folder: Path, **options: Any) -> list[int]:
    (folder / "file").write_bytes(content)
    with (folder / "file").open("rb") as file:
        packed = PackedFile(file.fileno(), os.fstat(file.fileno()), steering, adapt=False, **options)
        return [block.plain_bytes for block in FrameReader().feed(b"".join(packed.encode_pieces()))]


def test_codec_time_includes_sums_of_each_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0

    def slower(work: Callable[..., Any], takes_s: float) -> Callable[..., Any]:
        def slowed(*given: Any) -> Any:
            nonlocal now_s
            now_s += takes_s
            return work(*given)

        return slowed

    for module in (packing, unpacking):
        monkeypatch.setattr(module, "crc32", slower(crc32, 1))
        monkeypatch.setattr(module, "sha256", lambda: Mock(update=slower(str, 2), digest=lambda: bytes(32)))
    monkeypatch.setattr(packing.os, "pread", slower(os.pread, 100))  # a disk is no part of a codec
    monkeypatch.setattr(packing, "pack", slower(packing.pack, 10))
    monkeypatch.setattr(unpacking, "unpack", slower(unpacking.unpack, 5))
    monkeypatch.setattr(unpacking, "time", Mock(perf_counter=lambda: now_s))
    (tmp_path / "file").write_bytes(b"a line of some log\n" * 1000)
    with (tmp_path / "file").open("rb") as file:
        zstd = Steering(expected={}, line_bps=None, setting=ZSTD)
        packed = PackedFile(file.fileno(), os.fstat(file.fileno()), zstd, adapt=False, clock_s=lambda: now_s)
        blocks = FrameReader().feed(b"".join(packed.encode_pieces()))
    unpacker = Unpacker()
    for block in blocks:
        unpacker.unpack_block(block)
    assert [block.pack_s for block in blocks] == [packed.work.efforts[ZSTD].pack_s] == [13]
    assert unpacker.unpack_s == 8


def test_late_sample_is_taken_after_all_blocks_and_sent_at_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def noting(what: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any) -> Any:
            done.append(what)
            return work(*given)

        return noted

    monkeypatch.setattr(packing, "pack", noting("packed", packing.pack))
    monkeypatch.setattr(packing, "sample_descriptor", noting("sampled", packing.sample_descriptor))
    (tmp_path / "file").write_bytes(b"a line of some log\n" * 200_000)
    zstd = Steering(expected={}, line_bps=None, setting=CodecSetting(Codec.ZSTD, 1))
    with ThreadPoolExecutor(1) as pool, (tmp_path / "file").open("rb") as file:
        status = os.fstat(file.fileno())
        packed = PackedFile(file.fileno(), status, zstd, adapt=False, pool=pool, samples_late=True, sends_sample=True)
        reader = FrameReader()
        reader.feed(b"".join(packed.encode_pieces()))
    assert done == [*["packed"] * (len(done) - 1), "sampled"]
    assert len(done) > 2
    assert packed.sample is not None
    told = FileSample.parse(reader.note, packed.work.plain_bytes)
    assert told is not None
    assert (told.content.kind, told.file_bytes) == (packed.sample.content.kind, 3_800_000)


def test_a_sample_that_has_to_wait_for_other_files_for_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "MAX_LOOK_WAIT_S", 0.01)
    (tmp_path / "file").write_bytes(b"a line of some log\n" * 20_000)
    zstd = Steering(expected={}, line_bps=None, setting=CodecSetting(Codec.ZSTD, 1))
    with (tmp_path / "file").open("rb") as file:
        packed = PackedFile(file.fileno(), os.fstat(file.fileno()), zstd, adapt=False, samples_late=True)
        monkeypatch.setattr(packed, "_run_with_descriptor", lambda *_: Future())  # nobody comes to it
        stream = b"".join(packed.encode_pieces())
    reader = FrameReader()
    reader.feed(stream)
    assert (len(reader.finish()), packed.sample) == (32, None)


def test_a_sample_that_cannot_be_taken_fails_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "sample_descriptor", Mock(side_effect=OSError(5, "Input/output error")))
    (tmp_path / "file").write_bytes(b"a line of some log\n" * 20_000)
    zstd = Steering(expected={}, line_bps=None, setting=CodecSetting(Codec.ZSTD, 1))
    with (tmp_path / "file").open("rb") as file:
        packed = PackedFile(
            file.fileno(), os.fstat(file.fileno()), zstd, adapt=False, samples_late=True, sends_sample=True
        )
        stream = b"".join(packed.encode_pieces())
    assert (packed.failure, packed.sample) == (None, None)
    reader = FrameReader()
    reader.feed(stream)
    assert (reader.note, len(reader.finish())) == ("", 32)


def test_a_codec_that_fails_is_no_fault_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lzop").write_text("#!/bin/sh\necho no more memory >&2\nexit 3\n")
    (tmp_path / "lzop").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    lzop = CodecSetting(Codec.LZOP, 3)
    (tmp_path / "file").write_bytes(b"x" * 300_000)
    with (tmp_path / "file").open("rb") as file:
        packed = PackedFile(file.fileno(), os.fstat(file.fileno()), Steering(expected={}, line_bps=None, setting=lzop))
        (failure,) = packed.encode_pieces()
    assert failure == encode_failure(str(packed.failure))
    assert str(packed.failure) == "lzop:3 cannot pack it: lzop failed: no more memory"


def test_a_path_faster_than_every_codec_makes_it_raw() -> None:
    plan_steering = steering(ZSTD, 50)
    for _ in range(3):
        plan_steering = plan_steering.update(PackedBlock(plan_steering.setting, 5.0, 1600e6, 4e9))
    assert plan_steering.setting is None


def test_content_that_stops_packing_makes_it_raw() -> None:
    plan_steering = steering(ZSTD, 300)
    for _ in range(20):
        plan_steering = plan_steering.update(PackedBlock(plan_steering.setting, 1.0, 1600e6, 300e6))
    assert plan_steering.setting is None


def test_a_setting_is_not_left_for_a_small_gain() -> None:
    plan_steering = steering(XZ, 15)  # xz 80 Mbit/s, zstd 75
    assert plan_steering.update(PackedBlock(XZ, 8.0, 80e6, 16.5e6)).setting == XZ


def packed_with(content: bytes, plan_steering: Steering, folder: Path) -> PackedFile:
    source = folder / "source"
    source.write_bytes(content)
    with source.open("rb") as opened:
        file = PackedFile(opened.fileno(), source.stat(), plan_steering)
        assert sum(1 for _ in file.encode_pieces()) > 1
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


def test_steering_starts_with_expectations_of_service(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"to be or not to be " * 10_000)
    sample = sample_file(source)
    asked = make_advice_request(sample, NetworkLine(4e6), frozenset({Codec.GZIP, Codec.ZSTD}))
    history = History.of([observed(GZIP, 4.0, 400), observed(ZSTD, 5.0, 1600)])
    advice = AdviceAnswer.from_domain(
        advise(asked.to_query(build_typical_probe(Kind.TEXT)), history), sampled=True, source="tests"
    )
    steered_by = plan_steering(PackingMode.parse("auto"), sample, 4e6, frozenset(Codec), advice=advice)
    assert set(steered_by.expected) == {GZIP, ZSTD}
    assert steered_by.expected[ZSTD].ratio == pytest.approx(advice.best.ratio)


@pytest.mark.parametrize(("codec", "at_once"), [(Codec.BZIP2, 1), (Codec.PBZIP2, 2)])
def test_a_codec_for_one_core_packs_one_block_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: Codec, at_once: int
) -> None:
    running, most, lock = 0, 0, Lock()
    both = Barrier(at_once)

    def packed(plain: bytes, _setting: CodecSetting) -> bytes:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with suppress(BrokenBarrierError):
            both.wait(timeout=0.5)
        with lock:
            running -= 1
        return plain[:100]

    monkeypatch.setattr(packing, "pack", packed)
    (tmp_path / "file").write_bytes(bytes(2_000_000))
    steering = Steering(expected={}, line_bps=None, setting=CodecSetting(codec, 9))
    with ThreadPoolExecutor(2) as pool, (tmp_path / "file").open("rb") as file:
        list(PackedFile(file.fileno(), os.fstat(file.fileno()), steering, adapt=False, pool=pool).encode_pieces())
    assert most == at_once


def test_first_block_is_sent_before_the_file_is_sampled_and_later_ones_as_the_plan_says(tmp_path: Path) -> None:
    quick, planned = CodecSetting(Codec.ZSTD, 1), CodecSetting(Codec.GZIP, 6)
    (tmp_path / "file").write_bytes(b"a line of some log\n" * 100_000)
    has_left = Event()

    def make_plan(descriptor: int) -> tuple[FileSample, Steering]:
        assert has_left.wait(PATIENCE_S), "the first block waits for the plan"
        return sample_descriptor(descriptor), Steering(expected={}, line_bps=None, setting=planned)

    start = Steering(expected={}, line_bps=1e6, setting=quick)
    with ThreadPoolExecutor(1) as pool, (tmp_path / "file").open("rb") as file:
        packed = PackedFile(
            file.fileno(),
            os.fstat(file.fileno()),
            start,
            pool=pool,
            at_once=100,
            make_plan=make_plan,
            sends_sample=True,
        )
        pieces = packed.encode_pieces()
        first = next(pieces)
        has_left.set()
        reader = FrameReader()
        reader.feed(first + b"".join(pieces))
    assert set(packed.work.used) == {quick, planned}
    assert packed.work.used[quick] < packed.work.used[planned]
    assert packed.sample is not None
    assert reader.note == packed.sample.format()


def test_plan_that_is_made_when_the_only_block_has_left_still_gives_the_sample(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a line of some log\n" * 5_000)
    start = Steering(expected={}, line_bps=None, setting=CodecSetting(Codec.ZSTD, 1))
    with (tmp_path / "file").open("rb") as file:
        packed = PackedFile(
            file.fileno(), os.fstat(file.fileno()), start, make_plan=lambda at: (sample_descriptor(at), start)
        )
        assert b"".join(packed.encode_pieces())
    assert packed.sample is not None


def test_packed_upload_is_opened_before_its_sample_is_taken(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a line of some log\n" * 5_000)
    with (tmp_path / "file").open("rb") as file:
        packed = PackingOptions(mode=PackingMode(None)).open_packed_file(
            file.fileno(), os.fstat(file.fileno()), frozenset({Codec.ZSTD}), Future()
        )
    assert packed.steering.setting is not None
    assert packed.steering.setting.codec is Codec.ZSTD
