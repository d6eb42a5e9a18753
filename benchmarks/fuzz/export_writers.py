"""Writers of logs as servers, brokers, searches and collectors pass them on: copies, events, flattened messages."""

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from types import MappingProxyType
from zoneinfo import ZoneInfo

from benchmarks.fuzz.log_writers import (
    LOG_WRITERS,
    ZONES,
    WrittenLog,
    draw_transfers,
    take_full_seconds,
    without_changes_of_clocks,
)

_PREFIXES = ("data.", "_source.data.", "_source.data.data.", "_source.")
_MARKS = ("", ",", "\u202f")
"""Marks of thousands of exports; a point would also be a decimal mark."""


def _write_vsftpd(random: Random) -> WrittenLog:
    zone = random.choice(ZONES)
    lines, records = [], []
    for each in take_full_seconds(draw_transfers(random)):
        rate = each.moved_bytes / each.duration_s / 1024
        if rate < 0.5:
            continue
        ended = each.ended_at.astimezone(ZoneInfo(zone))
        lines.append(
            f"{ended:%a %b} {ended.day:2d} {ended:%H:%M:%S %Y} [pid {random.randrange(10**5)}] [ann] "
            f"{'OK' if each.succeeded else 'FAIL'} {random.choice(['DOWNLOAD', 'UPLOAD'])}: "
            f'Client "{random.choice(["192.0.2.61", "::ffff:192.0.2.61"])}", "/srv/a, \\"b", '
            f"{each.moved_bytes} bytes, {rate:.2f}Kbyte/sec"
        )
        lost = 0.01 / rate
        records.append(replace(each, tolerance=lost, start_tolerance_s=0.01 + lost * each.duration_s))
    return WrittenLog(lines, without_changes_of_clocks(records, zone), zone)


def _write_copies(random: Random) -> WrittenLog:
    """Write copies of XRootD, by its own names or by those of collectors."""
    transfers, is_own = draw_transfers(random), random.random() < 0.5
    messages = []
    for each in transfers:
        source, destination = "https://Disk1.example.org:1094//a", "https://disk2.example.org/a"
        code, streams = 0 if each.succeeded else 1, random.randint(1, 8)
        if is_own:
            started, ended = (
                f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:03d}Z" for at in (each.started_at, each.ended_at)
            )
            run = {"Beg": started, "End": ended, "RC": code, "Strm": streams, "Type": "pull", "IPv": 6}
            ends = {"Src": source, "Dst": destination, "Size": each.moved_bytes}
            messages.append({"TPC": "https", "Client": "a@h", "Xeq": run, **ends})
        else:
            started, ended = (
                f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06d}Z" for at in (each.started_at, each.ended_at)
            )
            run = {"begin_transfer": started, "end_transfer": ended, "return_code": code, "used_streams": streams}
            ends = {"source": source, "destination": destination, "size": each.moved_bytes}
            messages.append({"data": {"tpc_protocol": "https", "xeq": run, **ends}, "metadata": {"topic": "t"}})
    return WrittenLog([json.dumps(each) for each in messages], transfers)


def _write_events(random: Random) -> WrittenLog:
    """Write events of rucio, nested as hermes sends them, or flat as monitoring holds them."""
    transfers = draw_transfers(random)
    lines = []
    for number, each in enumerate(transfers):
        event_type = "transfer-done" if each.succeeded else "transfer-failed"
        payload = {
            "request-id": f"r{number}", "file-size": each.moved_bytes, "bytes": each.moved_bytes, "protocol": "davs",
            "src-rse": "A_DISK", "dst-rse": "B_DISK", "started_at": f"{each.started_at:%Y-%m-%d %H:%M:%S.%f}",
            "transferred_at": f"{each.ended_at:%Y-%m-%d %H:%M:%S.%f}", "previous-request-id": None,
        }  # fmt: skip
        if random.random() < 0.3:
            lines.append(json.dumps({"event_type": "transfer-submitted", "payload": payload}))
        flat = {name.replace("-", "_"): value for name, value in payload.items()} | {"event_type": event_type}
        event = {"event_type": event_type, "payload": payload, "created_at": "2026-03-01 10:00:00"}
        lines.append(json.dumps(random.choice([event, {"data": flat, "metadata": {}}])))
    return WrittenLog(lines, [each if each.succeeded else replace(each, moved_bytes=0) for each in transfers])


def _draw_messages_of_fts(random: Random) -> tuple[list[Mapping[str, object]], WrittenLog]:
    log = LOG_WRITERS["fts"](random)
    messages = [json.loads(line) for line in log.lines]
    return [message.get("data", message) for message in messages], log


def _write_flat_fts(random: Random) -> WrittenLog:
    """Write messages of FTS whose names stand for levels."""
    messages, log = _draw_messages_of_fts(random)
    prefix = random.choice(_PREFIXES)
    return replace(log, lines=[json.dumps({prefix + name: value for name, value in each.items()}) for each in messages])


def _write_table_of_fts(random: Random) -> WrittenLog:
    """Write messages of FTS as the table that a search exports, with marks of thousands or without."""
    messages, log = _draw_messages_of_fts(random)
    prefix, mark, delimiter = random.choice([*_PREFIXES, ""]), random.choice(_MARKS), random.choice([",", ";", "\t"])
    names = random.sample(sorted(messages[0]), len(messages[0]))
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n")
    writer.writerow([prefix + name for name in names])
    for message in messages:
        texts = (str(message[name]) for name in names)
        writer.writerow([f"{int(text):,}".replace(",", mark) if text.isdecimal() else text for text in texts])
    return replace(log, lines=written.getvalue().splitlines())


def _write_logfmt(random: Random) -> WrittenLog:
    """Write rclone's JSON as lines of logfmt, as collectors encode it."""
    log = LOG_WRITERS["rclone"](random)
    lines = []
    for line in log.lines:
        message = json.loads(line)
        pairs = {f"stats.{name}": value for name, value in message.pop("stats").items()} | message
        names = random.sample(sorted(pairs), len(pairs))
        lines.append(" ".join(f"{name}={_quote(str(pairs[name]))}" for name in names))
    return replace(log, lines=lines)


def _quote(text: str) -> str:
    return text if re.fullmatch(r"[^\s\"=]+", text) else json.dumps(text)


def _write_cased_gridftp(random: Random) -> WrittenLog:
    """Write GridFTP's log with its keys in another case, or as the objects that a collector parsed it to."""
    log = LOG_WRITERS["gridftp"](random)
    to_case = random.choice([str.lower, str.title])
    lines = [re.sub(r"(?<!\S)[A-Z.]+(?==)", lambda found: to_case(found[0]), line) for line in log.lines]
    return replace(log, lines=lines)


EXPORT_WRITERS: Mapping[str, Callable[[Random], WrittenLog]] = MappingProxyType(
    {
        "fts flat": _write_flat_fts,
        "fts table": _write_table_of_fts,
        "gridftp cased": _write_cased_gridftp,
        "rclone logfmt": _write_logfmt,
        "rucio events": _write_events,
        "vsftpd": _write_vsftpd,
        "xrootd copies": _write_copies,
    }
)
"""Formats as they leave collectors, brokers and searches."""
