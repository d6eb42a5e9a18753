"""Writers of logs: what random transfers look like in each format, with what the format loses of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from types import MappingProxyType
from zoneinfo import ZoneInfo

from tradewind_agent.history.importers.ports import DateOrder

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney", "America/St_Johns")


@dataclass(frozen=True, slots=True)
class Truth:
    """A transfer as it was.

    ``start_tolerance_s``, ``tolerance`` : what its format may lose of its start, and of bytes and duration, as a share.
    """

    started_at: datetime
    duration_s: float
    moved_bytes: int
    succeeded: bool = True
    start_tolerance_s: float = 0.002
    tolerance: float = 1e-6

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(seconds=self.duration_s)


@dataclass(frozen=True, slots=True)
class WrittenLog:
    """A log, and the records that it should give.

    ``zone``, ``date_order`` : what the user says of times without a zone, and of dates that may be read in two ways.
    """

    lines: Sequence[str]
    records: Sequence[Truth]
    zone: str = ""
    date_order: DateOrder | None = None


def draw_transfers(random: Random, *, most: int = 6) -> list[Truth]:
    """Draw transfers that follow each other, from 1 kB to 100 GB, at rates of 10 kbit/s to 100 Gbit/s."""
    at = datetime(2019, 1, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(7 * 365 * 86400))
    found = []
    for _ in range(random.randint(1, most)):
        moved = int(10 ** random.uniform(4, 11))
        duration_s = round(min(max(moved * 8 / 10 ** random.uniform(5, 10.5), 0.05), 2e5), 3)
        found.append(Truth(at, duration_s, moved, succeeded=random.random() > 0.15))
        at += timedelta(seconds=round(duration_s + random.uniform(0.1, 900), 3))
    return found


def take_full_seconds(transfers: Sequence[Truth]) -> list[Truth]:
    """Return transfers whose format has full seconds only, none beginning before the last one ended."""
    found: list[Truth] = []
    for each in transfers:
        at = each.started_at.replace(microsecond=0)
        at = max(at, found[-1].ended_at + timedelta(seconds=1)) if found else at
        found.append(replace(each, started_at=at, duration_s=float(max(round(each.duration_s), 1))))
    return found


def _to_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _write_gridftp(random: Random) -> WrittenLog:
    transfers = draw_transfers(random)
    lines = []
    for each in transfers:
        if random.random() < 0.2:
            lines.append("[1234] Tue Jun  3 12:30:20 2025 :: Server started in daemon mode.")
        ended, started = (f"{at:%Y%m%d%H%M%S}.{at:%f}" for at in (each.ended_at, each.started_at))
        lines.append(
            f"DATE={ended} HOST=dtn.example.org PROG=globus-gridftp-server NL.EVNT=FTP_INFO START={started} USER=ann "
            f"FILE=/data/{random.choice(['a b', 'x', 'ü'])} BUFFER=0 BLOCK=262144 NBYTES={each.moved_bytes} VOLUME=/ "
            f"STREAMS=4 STRIPES=1 DEST=[192.0.2.9] TYPE={random.choice(['RETR', 'STOR'])} "
            f"CODE={226 if each.succeeded else 426}"
        )
    return WrittenLog(lines, transfers)


def _write_fts(random: Random) -> WrittenLog:
    transfers = draw_transfers(random)
    messages = []
    for each in transfers:
        message = {
            "tr_id": f"x{random.random()}", "src_hostname": "se1.example.org", "dst_hostname": "se2.example.org",
            "timestamp_tr_st": _to_ms(each.started_at), "timestamp_tr_comp": _to_ms(each.ended_at),
            "t_final_transfer_state": "Ok" if each.succeeded else "Error", "tr_bt_transfered": each.moved_bytes,
            "f_size": each.moved_bytes, "nstreams": 2, "tcp_buf_size": 0, "buf_size": 0, "block_size": 0,
        }  # fmt: skip
        messages.append(
            {"data": message} if random.random() < 0.5 else {name: str(value) for name, value in message.items()}
        )
    return WrittenLog([json.dumps(each) for each in messages], [replace(each, tolerance=0.03) for each in transfers])


def _write_rclone(random: Random) -> WrittenLog:
    lines, runs = [], draw_transfers(random)
    records = []
    for run in runs:
        shares = sorted(random.uniform(0.2, 0.9) for _ in range(random.randint(0, 3)))
        for share in (*shares, 1.0):
            elapsed_s, at = run.duration_s * share, run.started_at + timedelta(seconds=run.duration_s * share)
            stats = {
                "bytes": round(run.moved_bytes * share), "totalBytes": run.moved_bytes, "elapsedTime": elapsed_s,
                "transfers": int(share == 1.0), "totalTransfers": 1, "errors": int(share == 1.0 and not run.succeeded),
                "checks": 0,
            }  # fmt: skip
            lines.append(
                json.dumps({"level": "notice", "msg": "\nTransferred:", "stats": stats, "time": at.isoformat()})
            )
        records.append(replace(run, tolerance=1e-3))
    return WrittenLog(lines, records)


def _write_rclone_text(random: Random) -> WrittenLog:
    zone = random.choice(ZONES)
    lines: list[str] = []
    records: list[Truth] = []
    for drawn in draw_transfers(random):
        run = replace(drawn, duration_s=max(round(drawn.duration_s, 1), 3.0))
        if records and run.started_at <= records[-1].ended_at:
            continue
        at = run.ended_at.astimezone(ZoneInfo(zone))
        number, power = run.moved_bytes / 1024.0, 1
        while number >= 1024:
            number, power = number / 1024, power + 1
        size = f"{number:.3f} {' KMGT'[power]}iB"
        minutes, tenths = divmod(round(run.duration_s * 10), 600)
        hours, minutes = divmod(minutes, 60)
        seconds = f"{tenths // 10}.{tenths % 10}s"
        span = f"{hours}h{minutes}m{seconds}" if hours else f"{minutes}m{seconds}" if minutes else seconds
        lines += [
            f"{at:%Y/%m/%d %H:%M:%S} NOTICE: ",
            f"Transferred:   \t{size} / {size}, 100%, 1.000 MiB/s, ETA 0s",
            *([] if run.succeeded else ["Errors:                 1 (retrying may help)"]),
            "Transferred:            1 / 1, 100%",
            f"Elapsed time:       {span}",
            "",
        ]
        records.append(replace(run, tolerance=2e-3, start_tolerance_s=1.1))
    return WrittenLog(lines, without_changes_of_clocks(records, zone), zone)


def without_changes_of_clocks(records: Sequence[Truth], zone: str) -> Sequence[Truth]:
    """Return records that allow an hour where clocks were put back, as such a log does not distinguish the two."""
    local = ZoneInfo(zone)
    return [
        replace(each, start_tolerance_s=3600.0 + each.start_tolerance_s)
        if any(
            at.astimezone(local).replace(fold=0).utcoffset() != at.astimezone(local).replace(fold=1).utcoffset()
            for at in (each.started_at, each.ended_at)
        )
        else each
        for each in records
    ]


def _write_xferlog(random: Random) -> WrittenLog:
    zone = random.choice(ZONES)
    transfers = take_full_seconds(draw_transfers(random))
    lines = [
        f"{each.ended_at.astimezone(ZoneInfo(zone)):%a %b} {each.ended_at.astimezone(ZoneInfo(zone)).day:2d} "
        f"{each.ended_at.astimezone(ZoneInfo(zone)):%H:%M:%S %Y} {each.duration_s:.0f} 192.0.2.61 {each.moved_bytes} "
        f"/srv/a file b _ {random.choice('io')} a ann ftp 0 * {'c' if each.succeeded else 'i'}"
        for each in transfers
    ]
    return WrittenLog(lines, without_changes_of_clocks(transfers, zone), zone)


def _write_dcache(random: Random) -> WrittenLog:
    transfers = draw_transfers(random)
    lines = []
    for each in transfers:
        code = 0 if each.succeeded else 666
        if random.random() < 0.5:
            lines.append(
                f"{each.ended_at:%Y-%m-%d %H:%M:%S} [pool:p@d:transfer] [00A1,{each.moved_bytes}] [/a b] x:y@osm "
                f"{each.moved_bytes} {round(each.duration_s * 1000)} {random.choice(['true', 'false'])} "
                f'{{GFtp-2.0:192.0.2.5:2811}} [door:x@y] {{{code}:""}}'
            )
        else:
            message = {
                "msgType": "transfer", "cellName": "p", "pnfsid": "00A1", "date": each.ended_at.isoformat(),
                "transferSize": each.moved_bytes, "transferTime": round(each.duration_s * 1000), "isP2p": False,
                "isWrite": random.choice(["read", "write"]), "protocolInfo": {"protocol": "Http", "host": "192.0.2.5"},
                "status": {"code": code, "msg": ""},
            }  # fmt: skip
            lines.append(json.dumps(message))
    return WrittenLog(lines, [replace(each, start_tolerance_s=1.0) for each in transfers])


def _write_xrootd(random: Random) -> WrittenLog:
    transfers = [replace(each, succeeded=True) for each in take_full_seconds(draw_transfers(random))]
    way = random.choice(["read", "write"])
    messages = [
        {
            "start_time": _to_ms(each.started_at), "end_time": _to_ms(each.ended_at), "server_ip": "192.0.2.40",
            "host": "wn.example.org", "read": 0, "readv": 0, "write": 0, way: each.moved_bytes,
        }
        for each in transfers
    ]  # fmt: skip
    return WrittenLog([json.dumps(each) for each in messages], transfers)


def _write_rucio(random: Random) -> WrittenLog:
    transfers = draw_transfers(random)
    traces = [
        {
            "eventType": random.choice(["download", "upload", "get_sm"]), "eventVersion": "35", "traceId": "t",
            "hostname": "h", "localSite": "B", "remoteSite": "A", "filesize": each.moved_bytes,
            "clientState": "DONE" if each.succeeded else "FAILED", "transferStart": each.started_at.timestamp(),
            "transferEnd": each.ended_at.timestamp(),
        }
        for each in transfers
    ]  # fmt: skip
    records = [each if each.succeeded else replace(each, moved_bytes=0) for each in transfers]
    return WrittenLog([json.dumps(each) for each in traces], [replace(each, tolerance=1e-4) for each in records])


def _write_htcondor(random: Random) -> WrittenLog:
    transfers = take_full_seconds(draw_transfers(random))
    lines = []
    for each in transfers:
        values = {
            "TransferStartTime": int(each.started_at.timestamp()), "TransferEndTime": int(each.ended_at.timestamp()),
            "TransferTotalBytes": each.moved_bytes, "TransferSuccess": str(each.succeeded).lower(),
            "TransferUrl": '"https://s.example.org/a"', "TransferType": '"download"', "TransferProtocol": '"https"',
        }  # fmt: skip
        names = random.sample(sorted(values), len(values))
        lines += ["***", *(f"{name} = {values[name]}" for name in names)]
    return WrittenLog(lines, transfers)


def _write_globus(random: Random) -> WrittenLog:
    transfers = take_full_seconds(draw_transfers(random))
    tasks = [
        {
            "DATA_TYPE": "task", "type": "TRANSFER", "status": "SUCCEEDED" if each.succeeded else "FAILED",
            "bytes_transferred": each.moved_bytes, "files": 3, "files_transferred": 2, "files_skipped": 0,
            "request_time": each.started_at.isoformat(), "completion_time": each.ended_at.isoformat(),
        }
        for each in transfers
    ]  # fmt: skip
    return WrittenLog([json.dumps(each) for each in tasks], transfers)


def _write_own(random: Random) -> WrittenLog:
    transfers = draw_transfers(random)
    lines = [
        json.dumps(
            {
                "id": f"{random.getrandbits(128):032x}", "started_at": each.started_at.isoformat(),
                "ended_at": each.ended_at.isoformat(), "source": "a", "destination": "b", "mover": {"name": "x"},
                "protocol": "http", "direction": "download", "path": {}, "parameters": {},
                "dataset": {"file_count": 1, "total_bytes": each.moved_bytes},
                "outcome": {
                    "status": "succeeded" if each.succeeded else "failed", "bytes_moved": each.moved_bytes,
                    "files_done": int(each.succeeded), "files_failed": int(not each.succeeded),
                    "throughput_bps": 8 * each.moved_bytes / each.duration_s,
                },
            }
        )
        for each in transfers
    ]  # fmt: skip
    return WrittenLog(lines, transfers)


LOG_WRITERS: Mapping[str, Callable[[Random], WrittenLog]] = MappingProxyType(
    {
        "dcache": _write_dcache,
        "fts": _write_fts,
        "globus": _write_globus,
        "gridftp": _write_gridftp,
        "htcondor": _write_htcondor,
        "ndjson": _write_own,
        "rclone": _write_rclone,
        "rclone text": _write_rclone_text,
        "rucio": _write_rucio,
        "xferlog": _write_xferlog,
        "xrootd": _write_xrootd,
    }
)
"""Writers of rclone's logs and of those of servers and services; tools and CSV have modules of their own."""
