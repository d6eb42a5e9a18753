"""Writers of what tools print that a user runs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from types import MappingProxyType
from zoneinfo import ZoneInfo

from benchmarks.fuzz.log_writers import (
    ZONES,
    Truth,
    WrittenLog,
    draw_transfers,
    take_full_seconds,
    without_changes_of_clocks,
)

_ANY_START_S = 1e12
"""Tolerance of starts that a log does not have."""


def _write_binary(size: float, digits: int) -> str:
    """Write a size in powers of 1024, as aria2 and aws do."""
    power = 0
    while size >= 1024 and power < 4:
        size, power = size / 1024, power + 1
    return f"{size:.{digits if power else 0}f} {' KMGT'[power].strip()}{'iB' if power else 'B'}"


def _write_aria2(random: Random) -> WrittenLog:
    zone = random.choice(ZONES)
    lines: list[str] = []
    records = []
    for each in take_full_seconds(draw_transfers(random)):
        gid = f"{random.getrandbits(24):06x}"
        ended = each.ended_at.astimezone(ZoneInfo(zone))
        size = _write_binary(each.moved_bytes, 2).replace(" ", "")
        lines += [
            f" *** Download Progress Summary as of {ended:%a %b} {ended.day} {ended:%H:%M:%S %Y} *** ",
            f"[#{gid} 16KiB/{size}(1%) CN:2 DL:16KiB ETA:30m30s]",
            "FILE: dst/a.bin",
            f"{ended:%m/%d %H:%M:%S} [NOTICE] Download complete: dst/{gid}",
            "Download Results:",
            "gid   |stat|avg speed  |path/URI",
            f"{gid}|OK  |   {_write_binary(each.moved_bytes / each.duration_s, 2).replace(' ', '')}/s|dst/{gid}",
        ]
        lost = 0.02 if each.moved_bytes / each.duration_s > 100 else 0.5
        records.append(replace(each, succeeded=True, tolerance=lost, start_tolerance_s=0.1 + lost * each.duration_s))
    return WrittenLog(lines, without_changes_of_clocks(records, zone), zone)


def _write_aws(random: Random) -> WrittenLog:
    zone = random.choice(ZONES)
    lines: list[str] = []
    records = []
    for each in draw_transfers(random):
        start, end = (at.astimezone(ZoneInfo(zone)) for at in (each.started_at, each.ended_at))
        started, ended = (f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}" for at in (start, end))
        size = _write_binary(each.moved_bytes, 1)
        lines += [
            f"{started} - MainThread - awscli.clidriver - DEBUG - CLI version: aws-cli/2.15.0 Python/3.11.6",
            f"{started} - Pool-1_0 - s3transfer.tasks - DEBUG - Executing task UploadSubmissionTask(transfer_id=0)",
            f"Completed {size}/{size} (60.0 MiB/s) with 1 file(s) remaining",
            "upload: src/a to s3://box/a" if each.succeeded else "upload failed: src/a to s3://box/a An error occurred",
            f"{ended} - Thread-1 - awscli.customizations.s3.results - DEBUG - Shutdown request received in result",
        ]
        records.append(replace(each, tolerance=0.06))
    return WrittenLog(lines, without_changes_of_clocks(records, zone), zone)


def _write_curl(random: Random) -> WrittenLog:
    transfers = draw_transfers(random)
    reports = [
        {
            "url_effective": "https://c.example.org/a", "size_download": each.moved_bytes, "size_upload": 0,
            "speed_download": int(each.moved_bytes / each.duration_s), "time_total": each.duration_s,
            "http_code": 200 if each.succeeded else 503, "exitcode": 0, "scheme": "HTTPS",
        }
        for each in transfers
    ]  # fmt: skip
    records = [replace(each, start_tolerance_s=_ANY_START_S) for each in transfers]
    return WrittenLog([json.dumps(each) for each in reports], records)


def _write_iperf3(random: Random) -> WrittenLog:
    transfers = [replace(each, succeeded=True, start_tolerance_s=1.1) for each in draw_transfers(random)]
    tests = [
        {
            "start": {
                "version": "iperf 3.16", "connected": [{"local_host": "192.0.2.1"}],
                "connecting_to": {"host": "iperf.example.org"}, "tcp_mss_default": 1448,
                "timestamp": {"timesecs": int(each.started_at.timestamp())},
                "test_start": {"protocol": "TCP", "num_streams": 2, "reverse": random.choice([0, 1])},
            },
            "end": {"streams": [], "sum_received": {"bytes": each.moved_bytes, "seconds": each.duration_s}},
        }
        for each in transfers
    ]  # fmt: skip
    return WrittenLog([json.dumps(each) for each in tests], transfers)


def _write_wget(random: Random) -> WrittenLog:
    zone = random.choice(ZONES)
    lines: list[str] = []
    records: list[Truth] = []
    for each in draw_transfers(random):
        rate, power = each.moved_bytes / each.duration_s, 0
        while rate >= 1024 and power < 3:
            rate, power = rate / 1024, power + 1
        digits = max(0, 2 - len(str(int(rate))) + 1) if rate < 99.95 else 0
        shown = f"{rate:.{digits}f}"
        saved, moved = random.choice(["saved", "gespeichert"]), each.moved_bytes
        if random.random() < 0.3:
            shown = shown.replace(".", ",")
        ended, started = (at.astimezone(ZoneInfo(zone)) for at in (each.ended_at, each.started_at))
        lines += [
            f"--{started:%Y-%m-%d %H:%M:%S}--  https://w.example.org/a",
            "HTTP request sent, awaiting response... 200 OK",
            "     0K ........ ........ ........ ....    100% 23.2M=1.2s",
            f"{ended:%Y-%m-%d %H:%M:%S} ({shown} {' KMG'[power].strip()}B/s) - 'a' {saved} [{moved}/{moved}]",
        ]
        records.append(replace(each, succeeded=True, tolerance=0.06, start_tolerance_s=1.1 + 0.06 * each.duration_s))
    return WrittenLog(lines, without_changes_of_clocks(records, zone), zone)


def _write_azcopy(random: Random) -> WrittenLog:
    lines, records = [], []
    for each in take_full_seconds(draw_transfers(random)):
        lines += [
            f"{each.started_at:%Y/%m/%d %H:%M:%S} AzcopyVersion  10.23.0",
            f"{each.started_at:%Y/%m/%d %H:%M:%S} Job-Command copy /d https://a.blob.core.windows.net/b --recursive",
            f"{each.ended_at:%Y/%m/%d %H:%M:%S} ",
            "Diagnostic stats:",
            "IOPS: 156",
            "",
            f"Job {random.getrandbits(32):08x}-1d51-b54b-4056-57d3194c869e {random.choice(['summary', 'Summary'])}",
            f"Elapsed Time (Minutes): {each.duration_s / 60:.4f}",
            "Number of File Transfers: 2",
            "Number of Transfers Completed: 1",
            f"Number of Transfers Failed: {int(not each.succeeded)}",
            f"{random.choice(['TotalBytesTransferred', 'Total Number of Bytes Transferred'])}: {each.moved_bytes}",
            f"Final Job Status: {'Completed' if each.succeeded else 'CompletedWithErrors'}",
            "",
        ]
        records.append(replace(each, tolerance=0.004, start_tolerance_s=0.02))
    return WrittenLog(lines, records)


TOOL_WRITERS: Mapping[str, Callable[[Random], WrittenLog]] = MappingProxyType(
    {
        "aria2": _write_aria2,
        "aws": _write_aws,
        "azcopy": _write_azcopy,
        "curl": _write_curl,
        "iperf3": _write_iperf3,
        "wget": _write_wget,
    }
)
