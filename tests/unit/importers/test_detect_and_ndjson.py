import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.importers.logs import ENDS, GRID_HEADER, grid_row, run
from tradewind.errors import InvalidValue
from tradewind.wire.records import WireRecord
from tradewind_agent.history.importers.detect import detect
from tradewind_agent.importers import ImportContext, import_file

SAMPLES = Path(__file__).parent / "corpus" / "samples"


@pytest.mark.parametrize(
    ("sample", "format"),
    [
        ("DATE=1 HOST=a START=2 NBYTES=3", "gridftp"),
        ('noise\n{"level":"info","msg":"Copied (new)"}', "rclone"),
        ('{"tr_id": "x"}', "fts"),
        ('{"data": {"tr_id": "x"}, "metadata": {}}', "fts"),
        ("2025/05/06 07:08:05 INFO  : a.bin: Copied (new)", "rclone"),
        ('{"level":"info","msg":"x","stats":{"bytes":1,"transfers":0}}', "rclone"),
        ('{"level":"info","msg":"started"}\n' * 3 + '{"level":"info","msg":"x","objectType":"*s3.Object"}', "rclone"),
        ("[#a1b2c3 1MiB/2MiB(50%) CN:1 DL:1MiB]", "aria2"),
        ("02/06 10:00:00 [NOTICE] Downloading 2 item(s)", "aria2"),
        ('{"id": "x", "dataset": {}, "outcome": {}}', "ndjson"),
        ("Throughput;FileSize;P\n1;2;3", "csv"),
    ],
)
def test_a_format_is_detected_by_its_content(sample, format):  # noqa: A002
    assert detect(sample) == format


@pytest.mark.parametrize(
    "message",
    [
        {"level": "info", "ts": 1746515280.5, "msg": "listening"},
        {"level": "warn", "time": "2025-05-06T07:08:05Z", "msg": "took long", "stats": {"count": 3}},
        {"severity": "INFO", "message": "done"},
    ],
)
def test_json_of_another_program_is_of_no_log_and_only_its_members_are_named(message):
    with pytest.raises(InvalidValue) as refused:
        detect(json.dumps(message))
    assert f"its members are {', '.join(message)}" in refused.value.reason
    assert "listening" not in refused.value.reason


def test_the_format_with_most_lines_wins_and_the_user_decides_between_two():
    grid, aria = "DATE=1 HOST=a START=2 NBYTES=3", "[#a1b2c3 1MiB/2MiB(50%) CN:1 DL:1MiB]"
    assert detect(f"{aria}\n" + f"{grid}\n" * 4) == "gridftp"
    with pytest.raises(InvalidValue, match="2 lines of gridftp and 1 of aria2; name the one to read"):
        detect(f"{aria}\n{grid}\n{grid}\n")


def test_a_browsers_log_is_named_as_one():
    with pytest.raises(InvalidValue, match=r"a browser's log \(HAR\): `logs upload` takes it"):
        detect('{\n "log": {\n  "version": "1.2"')


@pytest.mark.parametrize("sample", ["", "\n \n"])
def test_empty_log_is_reported_as_empty(sample):
    with pytest.raises(InvalidValue, match="file: is empty"):
        detect(sample)


@pytest.mark.parametrize("sample", ["hello", '{"rtt": 0.0}', "[" * 100_000, "{" * 100_000])
def test_a_log_of_no_known_format_requests_the_option(sample):
    with pytest.raises(InvalidValue, match="--format: cannot be detected"):
        detect(sample)


def test_an_unknown_format_is_wrong_usage():
    with pytest.raises(InvalidValue, match="--format: is one of auto, gridftp"):
        import_file(io.BytesIO(b"x"), format="morse", context=ENDS)


def test_own_records_pass_through_unchanged():
    records = [item.record for item in run([GRID_HEADER, grid_row(), grid_row()], ImportContext())[0]]
    own = b"".join(WireRecord.from_domain(record).to_line() for record in records)
    imported, refused, report = run(own + b"\n", ImportContext())
    assert (refused, report.format) == ([], "ndjson")
    assert [item.record for item in imported] == records


def test_own_records_that_are_malformed_are_refused_with_field_and_reason():
    (record,) = (item.record for item in run([GRID_HEADER, grid_row()], ImportContext())[0])
    line = WireRecord.from_domain(record).to_line()
    broken = [line, b"{\n", line.replace(b'"throughput_bps"', b'"speed"'), line.replace(b"2016", b"1016", 1)]
    _, refused, _ = run(b"".join(broken), ImportContext())
    assert [(item.row, item.field) for item in refused] == [
        (2, "row"),
        (3, "outcome.throughput_bps"),
        (4, "started_at"),
    ]


@pytest.mark.parametrize("field", ["bandwidth_bps", "rtt_s"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_context_refuses_impossible_paths(field, value):
    with pytest.raises(InvalidValue):
        ImportContext(**{field: value})


def test_a_part_of_a_log_read_on_from_an_offset_gives_the_rows_and_ids_of_the_entire():
    whole = run([GRID_HEADER, *[grid_row()] * 4], ImportContext())[0]
    own = [WireRecord.from_domain(item.record).to_line() for item in whole]
    rest = list(import_file(io.BytesIO(b"".join(own[2:])), context=ImportContext(), first_row=3))
    assert [(item.row, item.record.id) for item in rest] == [(3, whole[2].record.id), (4, whole[3].record.id)]


GRIDFTP_LINE = (
    "DATE=20260301100020.000000 HOST=dtn.example.org PROG=globus-gridftp-server NL.EVNT=FTP_INFO "
    "START=20260301100000.000000 USER=u FILE=/f BUFFER=0 BLOCK=262144 NBYTES=1000000000 VOLUME=/ STREAMS=4 STRIPES=1 "
    "DEST=[192.0.2.9] TYPE=RETR CODE=226"
)
RCLONE_LINE = json.dumps(
    {
        "time": "2026-03-01T10:00:40Z",
        "level": "notice",
        "msg": "Transferred",
        "stats": {
            "bytes": 60_000_000,
            "elapsedTime": 40,
            "totalBytes": 60_000_000,
            "transfers": 2,
            "totalTransfers": 2,
        },
        "source": "accounting/stats.go:526",
    }
)


def test_transfers_of_another_format_are_refused_and_not_skipped():
    lines = [
        *(GRIDFTP_LINE.replace("FILE=/", f"FILE=/{n}/") for n in range(4)),
        "Server started in daemon mode.",
        RCLONE_LINE,
    ]
    imported, refused, report = run(lines)
    assert (len(imported), refused) == (4, [])
    assert report.first_reasons == {
        ("row", "is of rclone"): "is of rclone, not of gridftp; read the file again with --format rclone"
    }
    assert report.skipped == {"messages of the server": 1}
    again, _, report = run(lines, format="rclone")
    assert len(again) == 1
    assert report.refused_count == 4


@pytest.mark.parametrize("other", [[RCLONE_LINE], [GRIDFTP_LINE] * 3])
def test_table_among_lines_of_another_format_is_refused(other):
    table = ["start,end,size (B),cc", "2026-03-01 10:00:00,2026-03-01 10:00:20,4000000,2"]
    with pytest.raises(InvalidValue, match="and a table; split the file"):
        run([*table, *other])


@pytest.mark.parametrize("sample", ["aria2.log", "aws.log", "azcopy.log", "htcondor.log", "rclone.log", "wget.log"])
def test_readers_that_pass_over_messages_refuse_transfers_of_another_format(sample):
    content = (SAMPLES / sample).read_bytes()
    context = ImportContext(source="a", destination="b", written_at=datetime(2026, 11, 29, tzinfo=UTC))
    alone, _, _ = run(content, context)
    imported, refused, _ = run(content * 3 + GRIDFTP_LINE.encode() + b"\n", context)
    assert {item.record.ended_at for item in imported} == {item.record.ended_at for item in alone}
    assert ["--format gridftp" in each.reason for each in refused] == [True]


def own_record(throughput_bps: float, *, ended_at: str = "2026-03-01T10:00:20Z") -> str:
    return json.dumps(
        {
            "id": "5f0c1c9e-0000-5000-8000-000000000001",
            "started_at": "2026-03-01T10:00:00Z",
            "ended_at": ended_at,
            "source": "alpha",
            "destination": "beta",
            "mover": {"name": "own"},
            "protocol": "https",
            "direction": "download",
            "dataset": {"file_count": 1, "total_bytes": 40_000_000},
            "outcome": {
                "status": "succeeded",
                "bytes_moved": 40_000_000,
                "files_done": 1,
                "files_failed": 0,
                "throughput_bps": throughput_bps,
            },
            "path": {},
            "parameters": {"concurrency": 2},
        }
    )


@pytest.mark.parametrize("factor", [8, 1 / 8, 1000, 1 / 1000, 1024, 8000, 1 / 8000, 8192, 1e6])
def test_own_record_whose_rate_is_in_another_unit_than_bytes_over_time_is_refused(factor):
    imported, refused, _ = run([own_record(16e6 * factor)])
    assert imported == []
    assert refused[0].field == "outcome.throughput_bps"
    assert "bytes over time 16 Mbit/s: a factor of" in refused[0].reason


@pytest.mark.parametrize("factor", [1, 0.9, 1.1, 2, 5, 7, 9, 900, 0.3])
def test_own_record_whose_rate_is_of_another_span_is_left_alone(factor):
    imported, refused, _ = run([own_record(16e6 * factor)])
    assert (len(imported), refused) == (1, [])


def test_own_record_of_a_second_may_have_any_rate_since_its_times_are_rounded():
    imported, _, _ = run([own_record(8 * 320e6, ended_at="2026-03-01T10:00:01Z")])
    assert len(imported) == 1
