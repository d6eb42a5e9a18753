"""A record of each tool's own, read by an upload and by a watch.

Records of aria2, aws, curl, globus-gridftp-server, iperf3, rclone and wget were written by these; those of services
and of tools that need an account follow their documents and sources.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from tests.unit.agent.history.watched_folder import NOW_S
from tests.unit.importers.logs import run
from tradewind.transfer import Direction, Status
from tradewind.wire.records import WireRecord
from tradewind_agent.history.importers.ports import ImportContext

SAMPLES = Path(__file__).parent / "samples"
ENDS_GIVEN = {"source": "alpha", "destination": "beta"}
OK, FAILED, UP, DOWN, THIRD = (
    Status.SUCCEEDED,
    Status.FAILED,
    Direction.UPLOAD,
    Direction.DOWNLOAD,
    Direction.THIRD_PARTY,
)

EXPECTED = {
    "aria2.log": ("aria2", [(29_360_128, 4.0, OK, DOWN, 1, 1)]),
    "aws.log": ("aws", [(20_027_802, 0.5, OK, UP, None, None)]),
    "azcopy.log": ("azcopy", [(330_000_000, 330.0, FAILED, UP, None, None)]),
    "azcopy-console.log": ("azcopy", [(30_000_000, 30.0, OK, UP, None, None)]),
    "azcopy.json": ("azcopy", [(50_000_000, 20.0, OK, UP, None, None)]),
    "curl.json": ("curl", [(30_000_000, 0.034985, OK, DOWN, None, None)]),
    "dcache.log": (
        "dcache",
        [
            (24_675_000, 4.74, OK, UP, None, 1),
            (500_000, 0.1, OK, DOWN, None, 1),
            (1000, 0.1, FAILED, DOWN, None, 1),
        ],
    ),
    "dcache.json": ("dcache", [(80_000_000, 16.0, OK, UP, None, 1)]),
    "fts.json": ("fts", [(1_000_000_000, 8.0, OK, THIRD, 4, 1)]),
    "fts-export.csv": ("fts", [(500_000_000, 4.0, OK, THIRD, 2, 1), (1000, 4.0, FAILED, THIRD, 2, 1)]),
    "fts-files.csv": ("fts", [(250_000_000, 2.5, OK, THIRD, None, 1)]),
    "fts-flat.json": ("fts", [(500_000_000, 4.0, OK, THIRD, 2, 1)]),
    "fts-search.json": ("fts", [(500_000_000, 4.0, OK, THIRD, 2, 1)]),
    "globus-events.json": ("globus", [(1_000_000_000, 100.0, OK, THIRD, 4, 2)]),
    "globus.csv": ("csv", [(5_000_000_000, 100.0, OK, THIRD, None, 1), (2_000_000_000, 50.0, FAILED, THIRD, None, 1)]),
    "gridftp.log": ("gridftp", [(20_000_000, 0.007077, OK, DOWN, 4, 1), (20_000_000, 0.017972, OK, UP, 2, 1)]),
    "gridftp-lower.log": (
        "gridftp",
        [(20_000_000, 0.007077, OK, DOWN, 4, 1), (20_000_000, 0.017972, OK, UP, 2, 1)],
    ),
    "gsutil.csv": ("csv", [(8_000_000, 16.0, OK, UP, None, 2), (8_000_000, 16.0, OK, UP, None, 2)]),
    "htcondor.log": ("htcondor", [(3_000_000, 1.5, OK, DOWN, None, 1), (0, 17.0, FAILED, DOWN, None, 1)]),
    "iperf3.json": ("iperf3", [(314_572_800, 0.138925, OK, UP, 2, 1)]),
    "iperf3-stream.json": ("iperf3", [(314_572_800, 0.138925, OK, UP, 2, 1)]),
    "rclone.json": ("rclone", [(60_000_000, 4.829628, OK, DOWN, None, 2)]),
    "rclone.log": ("rclone", [(59_999_519, 4.8, OK, DOWN, None, 2)]),
    "rclone.logfmt": ("rclone", [(60_000_000, 4.0, OK, UP, None, None)]),
    "rucio-events.json": ("rucio", [(0, 4.0, FAILED, THIRD, None, 1), (80_000_000, 16.0, OK, THIRD, None, 1)]),
    "rucio.json": ("rucio", [(60_000_000, 12.0, OK, DOWN, None, 1), (0, 4.0, FAILED, UP, None, 1)]),
    "s5cmd.json": ("s5cmd", []),
    "transfers.csv": (
        "csv",
        [
            (4_005_000_000, 20.0, OK, THIRD, None, 2),
            (4_005_000_000, 10.0, OK, THIRD, None, 4),
            (0, 2.0, FAILED, THIRD, None, 4),
        ],
    ),
    "vsftpd.log": (
        "vsftpd",
        [
            (81_920_000, 10.0, OK, DOWN, None, 1),
            (20_480_000, 5.0, OK, UP, None, 1),
            (1_024_000, 2.0, FAILED, UP, None, 1),
        ],
    ),
    "wan-dts.csv": ("csv", [(4_000_000_000, 20.0, OK, DOWN, 4, None), (1_000_000, 1.0, FAILED, UP, 4, None)]),
    "wget.log": ("wget", [(30_000_000, 1.2332, OK, DOWN, None, None)]),
    "xferlog": ("xferlog", [(64_000_000, 8.0, OK, DOWN, None, 1)]),
    "xrootd.json": ("xrootd", [(200_000_000, 40.0, OK, DOWN, None, 1), (25_000_000, 10.0, OK, UP, None, 1)]),
    "xrootd-tpc.json": (
        "xrootd",
        [(450_000_000, 9.126643, OK, THIRD, 4, 1), (700, 1.502102, FAILED, THIRD, 1, 1)],
    ),
    "xrootd-tpc-wlcg.json": ("xrootd", [(5_000_000_000, 20.0, OK, THIRD, 2, 1)]),
    "xrootd-wlcg.json": ("xrootd", [(358_000_000, 100.0, OK, DOWN, None, 1)]),
}
"""By file: its format, and of each record bytes, s, status, direction, parallelism and concurrency."""

LEFT_TO_UPLOAD = {
    "azcopy-console.log": "`logs upload` reads it",
    "curl.json": "`logs upload` reads it",
    "fts-export.csv": "is a search's table of messages; `logs upload` takes it",
    "fts-files.csv": "is a search's table of messages; `logs upload` takes it",
    "globus-events.json": "`logs upload` takes it",
    "iperf3.json": "`logs upload` takes it",
}
"""Logs without times, and JSON documents, which a watch leaves alone, with the reason that it gives."""


def test_every_sample_is_expected():
    assert {path.name for path in SAMPLES.iterdir()} == EXPECTED.keys()


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_sample_of_a_tool_gives_its_records(name):
    format_name, records = EXPECTED[name]
    content = (SAMPLES / name).read_bytes()
    context = ImportContext(**ENDS_GIVEN, written_at=_written_at())
    imported, refused, report = run(content, context)
    assert report.format == format_name
    assert [_describe(item.record) for item in imported] == [
        (moved, pytest.approx(lasted_s, rel=1e-4), *rest) for moved, lasted_s, *rest in records
    ]
    assert len(refused) == (1 if format_name == "s5cmd" else 0)


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("azcopy.log", ("alpha", "acct.blob.core.windows.net")),
        ("dcache.log", ("wn4.example.org", "beta")),
        ("globus.csv", ("North DTN", "South DTN")),
        ("htcondor.log", ("store.example.org", "beta")),
        ("fts-flat.json", ("se1.example.org", "se2.example.org")),
        ("rucio-events.json", ("SITE-A_DATADISK", "SITE-B_DATADISK")),
        ("rucio.json", ("SITE-A_DATADISK", "SITE-B")),
        ("xrootd.json", ("cache1.example.org", "wn7.example.net")),
        ("vsftpd.log", ("alpha", "192.0.2.61")),
        ("xrootd-tpc.json", ("disk1.example.org", "disk2.example.org")),
        ("xrootd-wlcg.json", ("disk4.example.gov", "wn1.example.edu")),
    ],
)
def test_first_record_of_a_sample_has_the_ends_that_it_names(name, ends):
    imported, _, _ = run((SAMPLES / name).read_bytes(), ImportContext(**ENDS_GIVEN, written_at=_written_at()))
    assert (imported[0].record.source, imported[0].record.destination) == ends


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_upload_and_watch_give_the_same_records(watched, name):
    content = (SAMPLES / name).read_bytes()
    context = ImportContext(**ENDS_GIVEN, written_at=_written_at())
    uploaded = [WireRecord.from_domain(item.record).to_line() for item in run(content, context)[0]]
    watched.write(name, content, age_s=1000.0)
    tally = watched.watch().run(once=True)
    if name in LEFT_TO_UPLOAD:
        assert (tally.records, watched.spooled) == (0, b"")
        assert any(LEFT_TO_UPLOAD[name] in note for note in watched.notes)
    else:
        assert sorted(map(json.loads, watched.spooled.splitlines()), key=_get_id) == sorted(
            map(json.loads, uploaded), key=_get_id
        )
        assert tally.records == len(uploaded) == len({json.loads(line)["id"] for line in uploaded})


@pytest.mark.parametrize("name", sorted(EXPECTED.keys() - LEFT_TO_UPLOAD.keys()))
@pytest.mark.parametrize("mean_bytes", [20, 300])
def test_log_that_arrives_piece_by_piece_gives_the_same_records(watched, name, mean_bytes):
    content, random = (SAMPLES / name).read_bytes(), Random(f"{name} {mean_bytes}")
    context = ImportContext(**ENDS_GIVEN, written_at=_written_at())
    uploaded = [WireRecord.from_domain(item.record).to_line() for item in run(content, context)[0]]
    while content:
        count = 1 + round(random.expovariate(1 / mean_bytes))
        watched.write(name, content[:count], age_s=1.0)
        watched.watch().run(once=True)
        content = content[count:]
    os.utime(watched.folder / name, (NOW_S - 1000, NOW_S - 1000))
    watched.watch().run(once=True)
    assert sorted(map(json.loads, watched.spooled.splitlines()), key=_get_id) == sorted(
        map(json.loads, uploaded), key=_get_id
    )


def _describe(record):
    parameters = record.parameters
    return (
        record.outcome.bytes_moved,
        record.duration_s,
        record.outcome.status,
        record.direction,
        parameters.parallelism,
        parameters.concurrency,
    )


def _get_id(row):
    return row["id"]


def _written_at():
    return datetime.fromtimestamp(NOW_S - 1000, UTC)
