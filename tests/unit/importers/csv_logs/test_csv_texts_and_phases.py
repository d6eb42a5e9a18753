"""Columns of texts, of phases, of parts, and in other languages."""

from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status

TIMES = (
    "2026-03-01T10:00:00Z,2026-03-01T10:00:20Z",
    "2026-03-01T10:01:00Z,2026-03-01T10:01:40Z",
    "2026-03-01T10:02:00Z,2026-03-01T10:02:10Z",
)
GOOD, BAD = Status.SUCCEEDED, Status.FAILED


def read(title: str, *cells: str):
    rows = [f'{times},400000000,"{cell}"' for times, cell in zip(TIMES, cells, strict=False)]
    return run([f"start,end,bytes,{title}", *rows], ENDS)


@pytest.mark.parametrize(
    ("title", "cell"),
    [
        ("command", "rclone copy --transfers 16 /d s3:b"), ("cmd", "globus-url-copy -cc 4 -p 8 file:/d gsiftp://h/d"),
        ("params", "cc=2;p=4"), ("config", "cc2_p4"), ("options", "--transfers=8"), ("notes", "concurrency: 3"),
        ("extra", "{'parallelism': 4}"),
    ],
)  # fmt: skip
def test_settings_in_texts_are_not_what_the_overlap_of_rows_shows(title, cell):
    with pytest.raises(InvalidValue, match=r"holds settings: .*; give each a column of its own"):
        read(title, cell, "")


@pytest.mark.parametrize(
    ("title", "cell"),
    [
        ("command", "scp -P 22 a b:"), ("command", "rclone copy --transfers 1 /d s3:b"), ("file", "cc4.bin"),
        ("notes", "3 transfers"), ("licence", "cc-by 4.0"), ("compiler", "cc 12.2"), ("host", "ecc4"), ("os", "CC7"),
        ("experiment", "pp_13_TeV"), ("note", "see pp 12-15"), ("note", "transfers 12 to 15"), ("note", "CC: 5 people"),
    ],
)  # fmt: skip
def test_texts_without_settings_say_nothing_of_them(title, cell):
    imported, refused, _ = read(title, cell, cell)
    assert ([item.record.parameters.concurrency for item in imported], refused) == ([1, 1], [])


@pytest.mark.parametrize(
    ("title", "good", "bad"),
    [
        ("Erfolg", "WAHR", "FALSCH"), ("Succès", "VRAI", "FAUX"), ("success", "VERDADERO", "FALSO"),
        ("ok", "ja", "nein"), ("Fehler", "0", "1"), ("Fehler", "nein", "ja"),
        ("Fehlermeldung", "", "Zeit"), ("erreur", "aucune", "délai"), ("Fehler", "kein Fehler", "keine Verbindung"),
        ("erreur", "pas d'erreur", "pas de réponse"), ("erreur", "aucun", "oui"), ("succès", "oui", "non"),
        ("éxito", "sí", "no"),
    ],
)  # fmt: skip
def test_ends_of_transfers_are_read_in_other_languages(title, good, bad):
    imported, refused, _ = read(title, good, bad, good)
    assert ([item.record.outcome.status for item in imported], refused) == ([GOOD, BAD, GOOD], [])


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("estado", ("Texas", "Ohio")), ("Fehler (ms)", ("3", "5")), ("aktiv", ("WAHR", "FALSCH")),
        ("error", ("FALSCH", "nein")), ("note", ("nein", "faux")), ("material", ("Si", "Ge")),
    ],
)  # fmt: skip
def test_other_columns_in_other_languages_fail_nothing(title, cells):
    imported, refused, _ = read(title, *cells)
    assert ([item.record.outcome.status for item in imported], refused) == ([GOOD, GOOD], [])


@pytest.mark.parametrize(
    ("title", "bad"), [("integrity", "corrupt"), ("check", "mismatch"), ("Ergebnis", "Fehler"), ("copied", "failed")]
)
def test_failure_next_to_ok_under_any_title_is_none_that_succeeded(title, bad):
    imported, refused, _ = read(title, "ok", bad, "ok")
    failed = [item for item in imported if item.record.outcome.status is BAD]
    assert (len(imported) - len(failed), len(failed) + len(refused)) == (2, 1)


def test_ok_next_to_other_words_says_nothing():
    assert [len(found) for found in read("raid", "ok", "degraded", "ok")[:2]] == [3, 0]


@pytest.mark.parametrize(
    ("title", "moves", "other"),
    [("operation", "transfer", "verify"), ("phase", "transfer", "checksum"), ("action", "copy", "scan")],
)
def test_phases_that_only_read_are_no_transfers(title, moves, other):
    imported, refused, report = read(title, moves, other, moves)
    assert (len(imported), refused) == (2, [])
    assert any("1 row left out" in noted for noted in report.assumptions)


@pytest.mark.parametrize(("title", "cells"), [("phase", ("warm-up", "main")), ("mode", ("checksum", "size"))])
def test_other_phases_and_ways_of_comparing_leave_transfers_as_they_are(title, cells):
    assert len(read(title, *cells)[0]) == len(cells)


def test_columns_that_are_not_read_are_named_whatever_their_titles():
    assert any("phase, type" in noted for noted in read("phase,type", '1","a', '2","b')[2].assumptions)


@pytest.mark.parametrize("title", ["stream_id", "chunk"])
def test_parts_that_begin_at_once_are_of_one_transfer(title):
    with pytest.raises(InvalidValue, match="numbers parts of one start"):
        run([f"start,end,bytes,{title}", *(f"{TIMES[0]},100000000,{part}" for part in (0, 1))], ENDS)


@pytest.mark.parametrize(
    ("titles", "rows"),
    [
        ("date,start,duration_s,bytes,stream", ("2026-03-01,10:00:00,20,400,1", "2026-03-02,10:00:00,20,400,2")),
        ("start,duration_s,bytes,stream", ("2026-03-01 10:00,20,400,1", "2026-03-01 10:00,20,400,2")),
        ("start,duration_s,bytes,stream", (",20,400,1", ",20,400,2")),
        ("start,duration_s,bytes,stream,source", (f"{TIMES[0][:20]},20,400,1,a", f"{TIMES[0][:20]},20,400,2,b")),
    ],
)
def test_streams_of_transfers_that_may_begin_apart_are_no_parts(titles, rows):
    assert [len(found) for found in run([titles, *rows], ENDS)[:2]] == [2, 0]


def test_streams_of_transfers_that_begin_apart_are_no_parts():
    assert len(read("stream", "1", "2", "4")[0]) == 3


def test_fewer_files_than_expected_are_refused():
    rows = [f"{times},400000000,{files},10" for times, files in zip(TIMES, (10, 11, 5), strict=True)]
    imported, refused, _ = run(["start,end,bytes,files,expected_files", *rows], ENDS)
    assert (len(imported), [row.field for row in refused]) == (2, ["expected_files"])


@pytest.mark.parametrize(("title", "offset"), [("tz_offset_minutes", "330"), ("utc_offset_s", "3600")])
def test_offsets_in_other_than_hours_need_the_zone(title, offset):
    imported, refused, _ = run([f"start,duration_s,bytes,{title}", f"2026-03-01 10:00:00,20,400000000,{offset}"], ENDS)
    assert (imported, "--timezone" in refused[0].reason) == ([], True)


def test_offsets_in_hours_are_read():
    imported, _, _ = run(["start,duration_s,bytes,utc_offset_hours", "2026-03-01 10:00:00,20,400000000,1"], ENDS)
    assert imported[0].record.started_at == datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_an_offset_is_of_times_without_a_zone():
    row = "2026-03-01T10:00:00Z,20,400000000,330"
    imported, refused, _ = run(["start,duration_s,bytes,tz_offset_minutes", row], ENDS)
    assert ([item.record.started_at for item in imported], refused) == ([datetime(2026, 3, 1, 10, tzinfo=UTC)], [])


def test_comment_that_names_levels_is_a_comment():
    rows = [f"{times},400000000,2" for times in TIMES]
    assert len(run(["# settings,Unnamed: 1_level_1", "start,end,bytes,cc", *rows], ENDS)[0]) == len(TIMES)


def test_header_of_several_lines_is_refused():
    levels = "Unnamed: 0_level_1,Unnamed: 1_level_1,Unnamed: 2_level_1,cc"
    with pytest.raises(InvalidValue, match="header of several lines"):
        run(["start,end,bytes,settings", levels, *(f"{times},400000000,2" for times in TIMES)], ENDS)
