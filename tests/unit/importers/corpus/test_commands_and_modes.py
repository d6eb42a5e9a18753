"""What the command and the mode of a tool say: the ends of a copy, and which tests tell of one direction alone."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Direction
from tradewind_agent.history.importers.importing import import_file
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow

SAMPLES = Path(__file__).with_name("samples")
AZCOPY = (SAMPLES / "azcopy.log").read_text(encoding="utf-8").splitlines()
ADDRESS = "https://acct.blob.core.windows.net/box"


def with_command(command: str) -> list[str]:
    return [
        f"{line.partition('Job-Command')[0]}Job-Command copy {command}" if "Job-Command" in line else line
        for line in AZCOPY
    ]


@pytest.mark.parametrize(
    "command",
    [
        f'"/data/my set" {ADDRESS} --recursive',
        f"--put-md5 --from-to LocalBlob --block-size-mb 8 /data/set {ADDRESS}",
        f"/data/set --cap-mbps=80 '{ADDRESS}'",
        f"--recursive /data/set {ADDRESS}",
        f"--cap-mbps 80 --put-md5 /data/set --log-level INFO {ADDRESS}",
    ],
)
def test_ends_of_azcopy_are_no_options_and_may_have_blanks(command: str):
    imported, refused, report = run(with_command(command))
    assert refused == []
    assert {(item.record.destination, item.record.direction) for item in imported} == {
        ("acct.blob.core.windows.net", Direction.UPLOAD)
    }
    assert not any("does not tell" in each for each in report.assumptions)


def test_ends_that_options_leave_open_are_not_guessed():
    _, _, report = run(with_command(f"--option-of-tomorrow /data/set {ADDRESS}"))
    assert any("does not tell" in each for each in report.assumptions)


@pytest.mark.parametrize(
    "length",
    [
        "Length: 30000000 (29M), 10000000 (9.5M) remaining [application/x-7z]",
        "Länge: 30000000 (29M), 10000000 (9,5M) sind noch übrig [text/plain]",
        "长度：30000000 (29M)，剩余 10000000 (9.5M) [text/plain]",
    ],
)
def test_wget_counts_what_came_and_not_what_was_there(length: str):
    """The rate is that of the bytes that came."""
    imported, refused, _ = run(
        [
            "--2026-11-28 23:04:25--  http://host.example/f.bin",
            "Connecting to host.example... connected.",
            "HTTP request sent, awaiting response... 206 Partial Content",
            length,
            "Saving to: ‘f.bin’",
            "",
            "2026-11-28 23:04:26 (10.0 MB/s) - ‘f.bin’ saved [30000000/30000000]",
            "",
        ],
    )
    assert refused == []
    (item,) = imported
    assert item.record.outcome.bytes_moved == 10_000_000
    assert item.record.duration_s == pytest.approx(10_000_000 / (10 * 2**20), abs=0.001)


@pytest.mark.parametrize("place", ["start", "end"])
def test_iperf3_of_both_directions_is_left_out(place: str):
    """Some versions tell it by the sums of the other direction alone."""
    document = json.loads((SAMPLES / "iperf3.json").read_text(encoding="utf-8"))
    if place == "start":
        document["start"]["test_start"]["bidir"] = 1
    else:
        document["end"]["sum_received_bidir_reverse"] = document["end"]["sum_received"]
    imported, refused, report = run(json.dumps(document, indent=1).splitlines())
    assert (imported, refused) == ([], [])
    assert report.skipped


@pytest.mark.parametrize(("reverse", "ends"), [(0, ("192.0.2.2", "192.0.2.1")), (1, ("192.0.2.1", "192.0.2.2"))])
def test_report_of_an_iperf3_server_names_the_client_as_the_other_end(reverse: int, ends: tuple[str, str]):
    document = json.loads((SAMPLES / "iperf3.json").read_text(encoding="utf-8"))
    start = document["start"]
    del start["connecting_to"]
    start["accepted_connection"] = {"host": "192.0.2.2", "port": 40000}
    start["connected"][0] |= {"local_host": "192.0.2.1", "remote_host": "192.0.2.2"}
    start["test_start"]["reverse"] = reverse
    (row,) = import_file(io.BytesIO(json.dumps(document).encode()), context=ImportContext())
    assert isinstance(row, ImportedRow)
    assert (row.record.link.source, row.record.link.destination) == ends


@pytest.mark.parametrize(("seconds", "refusals"), [(20, 0), (20_000, 1), (20_000_000, 1)])
def test_report_of_curl_whose_time_contradicts_its_speed_is_refused(seconds: int, refusals: int):
    report = {"size_download": 40_000_000, "size_upload": 0, "speed_download": 2_000_000, "time_total": seconds}
    line = json.dumps(report | {"url_effective": "https://host/a", "http_code": 200, "curl_version": "libcurl/8.5.0"})
    imported, refused, _ = run([line])
    assert (len(imported), len(refused)) == (1 - refusals, refusals)


STREAM = [json.loads(line) for line in (SAMPLES / "iperf3-stream.json").read_text(encoding="utf-8").splitlines()]
ERROR = {"event": "error", "data": "the server has terminated"}


def run_events(events, after=()):
    return run([*map(json.dumps, events), *after])


def test_iperf3_stream_holds_what_the_report_holds():
    imported, _, _ = run_events(STREAM)
    reported, _, _ = run((SAMPLES / "iperf3.json").read_bytes())
    assert [replace(item.record, id=reported[0].record.id) for item in imported] == [item.record for item in reported]


def test_several_tests_of_a_stream_are_records_of_their_own():
    later = json.loads(json.dumps(STREAM))
    later[0]["data"]["timestamp"]["timesecs"] += 60
    later[-1]["data"]["sum_received"]["bytes"] += 1000
    imported, refused, report = run_events([*STREAM, *STREAM[:2], *later])
    assert [item.record.outcome.bytes_moved for item in imported] == [314_572_800, 314_573_800]
    assert refused == []
    assert report.skipped == {"tests without an end": 1}


@pytest.mark.parametrize("events", [[*STREAM[:-1], ERROR], [*STREAM[:-1], ERROR, {"event": "end", "data": {}}]])
def test_failed_test_of_a_stream_is_left_out(events):
    imported, refused, report = run_events(events)
    assert (imported, refused) == ([], [])
    assert report.skipped


def test_end_of_a_stream_without_its_start_is_refused():
    imported, refused, _ = run_events(STREAM[1:])
    assert imported == []
    assert "start of this test is not in the log" in refused[0].reason


def test_full_report_behind_a_stream_is_no_second_test():
    full = (SAMPLES / "iperf3.json").read_text(encoding="utf-8").splitlines()
    imported, refused, _ = run_events(STREAM, full)
    assert (len(imported), refused) == (1, [])
