"""A log that is cut off within a line gives the rows of the lines before, or those of the complete line."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from tests.unit.importers.logs import run
from tradewind.errors import InvalidValue
from tradewind.transfer import TransferRecord
from tradewind_agent.history.importers.importing import import_file
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow

SAMPLES = Path(__file__).with_name("samples")
CONTEXT = ImportContext(source="alpha", destination="beta", written_at=datetime(2026, 11, 29, tzinfo=UTC))
LINES_CUT = 4
"""At the end of each sample."""
STEP = 7
"""Bytes between two cuts; the last ten bytes of a line are all tried."""


def read(content: bytes, format_name: str) -> Sequence[TransferRecord]:
    try:
        rows = list(import_file(io.BytesIO(content), format=format_name, context=CONTEXT))
    except InvalidValue:
        return []
    return [replace(row.record, id=UUID(int=0)) for row in rows if isinstance(row, ImportedRow)]


def list_cuts(start: int, end: int) -> Iterator[int]:
    """Yield places within a line; its line end is left out."""
    yield from range(start + 1, max(end - 10, start + 1), STEP)
    yield from range(max(end - 10, start + 1), end)


@pytest.mark.parametrize("sample", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_cut_log_gives_no_row_that_no_complete_line_gives(sample):
    content = sample.read_bytes()
    content = content[: content.rindex(b"\n") + 1]
    format_name = import_file(io.BytesIO(content), context=CONTEXT).report.format
    ends = [place + 1 for place, byte in enumerate(content) if byte == ord("\n")]
    for start, end in list(zip([0, *ends], ends, strict=False))[-LINES_CUT:]:
        possible = [read(content[:start], format_name), read(content[:end], format_name)]
        for cut in list_cuts(start, end):
            assert read(content[:cut], format_name) in possible, content[start:cut]


HEAD = "start,duration_s,cc,bytes"
ROWS = ["2026-03-01T10:00:00Z,20,2,40000000", "2026-03-01T10:05:00Z,10,2,40000000"]


def read_table(*lines: str) -> tuple[int, Sequence[str]]:
    imported, refused, _ = run("\n".join(lines).encode())
    return len(imported), [each.reason for each in refused]


@pytest.mark.parametrize(
    "cut", ["2026-03-01T10:10:00Z,20,2,4000", "2026-03-01T10:10:00Z,20,2,", "2026-03-01T10:10:00Z,20"]
)
def test_row_without_a_line_end_is_refused_where_its_last_number_may_be_cut(cut):
    count, reasons = read_table(HEAD, *ROWS, cut)
    assert (count, len(reasons)) == (2, 1)
    assert read_table(HEAD, *ROWS, cut, "")[0] == (3 if cut.endswith("4000") else 2)


def test_refused_row_says_how_to_state_that_it_is_complete():
    _, (reason,) = read_table(HEAD, *ROWS, ROWS[0])
    assert (
        reason
        == "may be cut off, for the row has no line end: '40000000'; end the file with a line break if it is complete"
    )


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("end", ["2026-03-01 11:00:00", "2026-03-01 11:00:00"]),
        ("end", ["2026-03-01 11:00:00"]),
        ("duration_s", ["20.250", "20.500"]),
        ("duration", ["0:00:20", "0:01:20"]),
        ("status", ["ok", "ok"]),
        ("note", ["x", "yz"]),
        ("duration_s", ['"20"', '"10"']),
        ("throughput (MB/s),duration_s", ["2,20", "4,10"]),
    ],
)
def test_row_without_a_line_end_is_read_where_its_last_cell_is_complete(title, cells):
    head = "start,bytes,cc" if title != "status" and title != "note" else "start,bytes,cc,duration_s"
    more = "" if head.endswith("cc") else ",20"
    rows = [f"2026-03-01 10:0{n}:00,40000000,2{more},{cell}" for n, cell in enumerate(cells)]
    assert read_table(f"{head},{title}", *rows) == (len(cells), [])


@pytest.mark.parametrize(
    ("titles", "cells", "cut"),
    [
        ("bytes,end", ["40000000,2026-03-01 11:00:00"], "40000000,2026-03-01 11:00"),
        ("bytes,duration_s", ["40000000,20.250"], "40000000,20.5"),
        ("bytes,duration_s", ["40000000,20.250"], "40000000,20"),
        ("bytes,duration_s", [], "40000000,20.5"),
        ("bytes,duration", ["40000000,1m20s"], "40000000,1m"),
        ("duration_s,size", ["20,40 MB", "20,30 MB"], "20,40"),
        ("bytes,duration_s,status", ["40000000,20,finished", "40000000,20,finishedDirty"], "40000000,20,finished"),
        ("bytes,duration_s,error", ["40000000,20,timeout"], "40000000,20,"),
    ],
)
def test_row_whose_last_cell_may_be_a_beginning_is_refused(titles, cells, cut):
    rows = [f"2026-03-01 10:0{n}:00,2,{cell}" for n, cell in enumerate([*cells, cut])]
    count, reasons = read_table(f"start,cc,{titles}", *rows)
    assert (count, len(reasons)) == (len(cells), 1)
