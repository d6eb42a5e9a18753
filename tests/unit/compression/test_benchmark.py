"""What the benchmark of compression lets the choice know, what it transfers, and what of it counts."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.compression import __main__ as benchmark
from benchmarks.compression import bounds, ends
from benchmarks.compression.ends import open_folder, run_on, split_processors
from benchmarks.compression.judging import build_history_without, judge_cells
from benchmarks.compression.modes import AUTO, RAW, Cell
from benchmarks.compression.packing import PackedStream, pack_file
from benchmarks.compression.row_store import RowStore
from benchmarks.compression.slow_path import RateLimiter
from benchmarks.wan.runs import RunLog
from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.compression.content import Kind
from tradewind.compression.history import CompressionCase
from tradewind.compression.model import NetworkLine, Speeds
from tradewind_agent.compression.cores import count_usable_cores

ZSTD, GZIP, XZ = CodecSetting(Codec.ZSTD, 3), CodecSetting(Codec.GZIP, 6), CodecSetting(Codec.XZ, 9)
PROBE = Speeds(4.0, 400e6, 1600e6)


def packed(ratio: float, cpu_s: float = 0.01) -> PackedStream:
    return PackedStream(
        stream_bytes=round(4_000_000 / ratio),
        ratio=ratio,
        compress_bps=8e8,
        decompress_bps=3e9,
        pack_cpu_s=cpu_s,
        unpack_cpu_s=0.01,
    )


def cell(content: str, mb_per_s: float, ratio: float) -> Cell:
    return Cell(
        content=content,
        file=Path(content),
        upload=True,
        mb_per_s=mb_per_s,
        line=NetworkLine(8e6 * mb_per_s),
        case=CompressionCase(file_bytes=4_000_000, kind=Kind.TEXT, cpu_class="x86_64/a/2", probe=PROBE),
        made={ZSTD: packed(ratio), GZIP: packed(ratio), XZ: packed(2 * ratio, cpu_s=4.0)},
        tried=dict.fromkeys((ZSTD, GZIP), Speeds(ratio, 8e8, 3e9)) | {XZ: Speeds(2 * ratio, 8e6, 3e9)},
        took_s={RAW: 2.0, AUTO: 0.6, str(ZSTD): 0.5, str(GZIP): 1.0},
    )


def test_a_choice_knows_nothing_of_its_own_content_at_any_rate_nor_of_what_its_maker_was_packaged_for() -> None:
    one, same, other = cell("log", 2.0, 400.0), cell("log", 20.0, 400.0), cell("program", 2.0, 3.0)
    known = build_history_without(one, [one, same, other]).predict_speeds(ZSTD, one.case)
    alone = build_history_without(one, [other]).predict_speeds(ZSTD, one.case)
    assert known == alone
    told = build_history_without(replace(one, content="sensors"), [one]).predict_speeds(ZSTD, one.case)
    assert known is not None
    assert told is not None
    assert told.speeds.ratio > 10 * known.speeds.ratio


def judged(each: Cell) -> Cell:
    """With all settings transferred that the choice may fall on."""
    each.took_s |= {str(XZ): 1.8}
    return each


def test_regret_is_computed_from_real_transfers_and_auto_is_compared_with_fixed_modes() -> None:
    (row,), summary = judge_cells([judged(cell("log", 2.0, 5.0))])
    assert (row["best"], row["best_s"]) == (str(ZSTD), 0.5)
    assert row["regret"] == pytest.approx(1 - 0.5 / row["chosen_s"])
    assert summary["auto_regret_median"] == pytest.approx(1 - 0.5 / 0.6)
    assert (summary["settings_weighed"], summary["settings_ruled_out_share"], summary["bounds_broken"]) == (3, 0, 0)


def test_setting_whose_slowest_stage_outlasts_another_complete_transfer_is_ruled_out() -> None:
    each = cell("log", 2.0, 5.0)
    least = each.compute_least_s()
    assert least[XZ] == pytest.approx(bounds.TRUST * 4.0 / 2)  # two cores pack for 4 s
    assert least[ZSTD] == pytest.approx(800_000 / 2e6 - 0.02)  # the stream takes its time on the path
    assert bounds.pick_contenders(least, {RAW: 2.0, str(GZIP): 1.0}, most=9) == [ZSTD]
    assert bounds.pick_contenders(least, {RAW: 2.0}, most=1) == [ZSTD]  # the most promising first
    assert bounds.pick_contenders(least, {RAW: 2.0, str(GZIP): 1.0, str(ZSTD): 0.5}, most=9) == []


def test_regret_assumes_the_least_time_for_settings_that_were_left_out() -> None:
    least = {ZSTD: 0.4, GZIP: 0.496}
    assert bounds.pick_contenders(least, {RAW: 2.0, str(ZSTD): 0.5}, most=9) == []  # it could gain a hundredth at most
    assert bounds.compute_best_possible_s(least, {RAW: 2.0, str(ZSTD): 0.5}) == 0.496


def test_transfer_that_is_quicker_than_its_bound_is_counted() -> None:
    assert bounds.count_broken({ZSTD: 0.4, GZIP: 0.7, XZ: 1.0}, {RAW: 2.0, str(ZSTD): 0.5, str(GZIP): 0.6}) == 1


def test_a_path_makes_up_for_being_served_late_but_not_for_having_been_idle() -> None:
    now_s = [0.0]
    turns = RateLimiter(1e6, lambda: now_s[0])
    assert turns.reserve(50_000, gap_s=0.0) == pytest.approx(0.05)
    now_s[0] = 0.06  # ten milliseconds too late
    assert turns.reserve(50_000, gap_s=0.0) == pytest.approx(0.04)
    now_s[0] = 10.0
    assert turns.reserve(10_000, gap_s=9.9) == pytest.approx(0.01)


def test_packed_size_of_a_setting_is_that_of_the_sent_stream(tmp_path: Path) -> None:
    (tmp_path / "digits").write_text("".join(Random(1).choices("0123456789", k=900_000)))
    found = pack_file(tmp_path / "digits", ZSTD)
    assert 900_000 / found.ratio < found.stream_bytes < 900_000 / found.ratio + 1000  # with heads and the end
    assert 2 < found.ratio < 2.5
    assert found.pack_cpu_s > 0
    assert PackedStream.from_row({"key": "as it is stored", **found.to_row()}) == found


def test_a_transfer_that_was_measured_is_not_made_again_until_its_conditions_change(tmp_path: Path) -> None:
    made_of: list[str] = []

    def measure() -> dict[str, float]:
        made_of.append("a transfer")
        return {"took_s": 1.5}

    for _ in range(2):
        store = RowStore.of(RunLog(tmp_path / "runs.ndjson"), quick=True)
        assert store.find_transfer("log up by raw, 1 of 2", measure)["took_s"] == 1.5
    assert len(made_of) == 1
    RowStore.of(RunLog(tmp_path / "runs.ndjson"), quick=False).find_transfer("log up by raw, 1 of 2", measure)
    assert len(made_of) == 2


def test_a_run_in_full_without_measurements_of_other_machines_says_so_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert benchmark.main([]) == 2
    assert "name a folder of squash tables with --data" in capsys.readouterr().err


def test_the_ends_of_a_transfer_share_no_processor_where_there_are_two(monkeypatch) -> None:
    for usable, halves in (({3}, ({3}, {3})), ({0, 5}, ({0}, {5})), ({0, 1, 2, 3, 4}, ({0, 1, 2}, {3, 4}))):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, usable=usable: usable)
        assert split_processors() == halves


def test_programs_of_an_end_run_on_its_processors_alone() -> None:
    usable = os.sched_getaffinity(0)
    one = {min(usable)}
    with run_on(one):
        command = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
        assert subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip() == str(sorted(one))
        assert count_usable_cores() == 1
    assert os.sched_getaffinity(0) == usable


def test_files_of_both_ends_are_in_memory_where_it_holds_them_and_gone_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends, "MEMORY", tmp_path)
    (tmp_path / f"tradewind-compression-{os.getuid()}" / "of an interrupted run").mkdir(parents=True)
    with open_folder(1000, tmp_path / "otherwise") as folder:
        (folder / "left").touch()
        assert folder.parent == tmp_path
        assert folder.name.startswith("tradewind-compression-")
        with open_folder(10**18, tmp_path / "otherwise") as on_disk:
            assert on_disk == tmp_path / "otherwise"
            assert not folder.exists()
    assert list(tmp_path.iterdir()) == []
