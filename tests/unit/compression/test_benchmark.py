"""What the benchmark of compression lets the choice know, and what of it counts."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.compression.transfers import figures, without
from benchmarks.compression.ways import AUTO, RAW, Cell
from tradewind.compression.codecs import Codec, Setting
from tradewind.compression.content import Content, Kind
from tradewind.compression.history import Case, Observation
from tradewind.compression.model import Line, Speeds
from tradewind_agent.compression.sampling import Sample

ZSTD, GZIP = Setting(Codec.ZSTD, 3), Setting(Codec.GZIP, 6)
PROBE = Speeds(4.0, 400e6, 1600e6)


def cell(content: str, mb_per_s: float, ratio: float) -> Cell:
    case = Case(file_bytes=4_000_000, kind=Kind.TEXT, cpu_class="x86_64/a/2", probe=PROBE)
    made = Cell(
        content=content,
        file=Path(content),
        upload=True,
        mb_per_s=mb_per_s,
        line=Line(8e6 * mb_per_s),
        case=case,
        sample=Sample(file_bytes=4_000_000, content=Content(Kind.TEXT, 4.0), probe=PROBE, cpu_class="x86_64/a/2"),
    )
    for setting in (ZSTD, GZIP):
        made.seen[setting] = Observation(case=case, setting=setting, speeds=Speeds(ratio, 8e8, 3e9))
    made.took_s = {RAW: 2.0, AUTO: 0.6, str(ZSTD): 0.5, str(GZIP): 1.0}
    return made


def test_a_choice_knows_nothing_of_its_own_content_at_any_rate_nor_of_what_its_maker_was_packaged_for() -> None:
    one, same, other = cell("log", 2.0, 400.0), cell("log", 20.0, 400.0), cell("program", 2.0, 3.0)
    known = without(one, [one, same, other]).expected(ZSTD, one.case)
    alone = without(one, [other]).expected(ZSTD, one.case)
    assert known == alone
    told = without(replace(one, content="sensors"), [one]).expected(ZSTD, one.case)
    assert known is not None
    assert told is not None
    assert told.speeds.ratio > 10 * known.speeds.ratio


def test_regret_is_that_of_real_transfers_and_auto_is_judged_beside_the_fixed_ways() -> None:
    (row,), summary = figures([cell("log", 2.0, 5.0)])
    assert (row["best"], row["best_s"]) == (str(ZSTD), 0.5)
    assert row["regret"] == pytest.approx(1 - 0.5 / row["chosen_s"])
    assert summary["auto_regret_median"] == pytest.approx(1 - 0.5 / 0.6)
