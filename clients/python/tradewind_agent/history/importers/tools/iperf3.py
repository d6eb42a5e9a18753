"""Reports of ``iperf3 --json`` and ``--json-stream``: a test is a record of its own mover, and others learn its path.

It moves memory and not files, so that its settings say nothing of a program that copies. A stream has an object for the
start of a test, one for each interval, and one for its end; the first and the last are a report together.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.fields import MAX_SETTING, parse_positive, round_within
from tradewind_agent.history.importers.json_messages import find_message, find_object, find_text, read_count
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, name_end, parse_moment
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow
from tradewind_agent.history.importers.sessions import read_sessions

_EVENTS = frozenset({"start", "interval", "end"})
_REMEMBERED = 16
_NO_TEST = "tests that failed or were not of TCP, and other objects"
_ASSUMED = "a test moves memory and not files: it is a link of its own, whose path is known by it"


def is_test(message: Mapping[str, object]) -> bool:
    """Return whether a message is the report of a test, also of one that failed, or an event of one."""
    start = message.get("start")
    if "event" in message:
        data = find_object(message, "data")
        return message["event"] in _EVENTS and ("streams" in data or find_text(data, "version").startswith("iperf"))
    return isinstance(start, dict) and "end" in message and find_text(start, "version").startswith("iperf")


def has_open_test(lines: Iterable[Line]) -> bool:
    """Return whether a test in events has started and not ended."""
    open_ones: set[str] = set()
    for line in lines:
        if line.text.startswith(('{"event":"start"', '{"event": "start"')):
            open_ones.add(line.origin)
        elif line.text.startswith(('{"event":"end"', '{"event": "end"')):
            open_ones.discard(line.origin)
    return bool(open_ones)


class Iperf3Importer:
    """Reports of tests, one an object or one in several events."""

    name = "iperf3"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a test; otherwise as ``Importer.read_rows``."""
        report.assume(_ASSUMED)
        tests = _Tests(context, report)
        yield from read_sessions(text, tests.read, context, report)
        for _ in tests.starts:
            report.skip("tests without an end")


@dataclass(slots=True)
class _Tests:
    """Tests of one log.

    ``starts`` : what streams of events started with, by the process that writes them.
    ``cookies`` : of the last tests in events; a full report of one may follow.
    """

    context: ImportContext
    report: ImportReport
    starts: dict[str, dict[str, object]] = field(default_factory=dict)
    has_events: bool = False
    cookies: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def read(self, line: Line) -> LoggedTransfer | None:
        """Return the transfer of a test whose report is complete; ``None`` for other lines.

        Raises
        ------
        InvalidValue : the line is damaged, or the end of a test without a start.
        """
        if not line.text.lstrip().startswith('{"' if self.has_events else "{"):
            self.report.skip("lines of the full report behind the events" if self.has_events else "lines of no report")
            return None
        message = find_message(line.text)
        if "event" not in message:
            if self.has_events and _find_cookie(message.get("start")) in self.cookies:
                self.report.skip("lines of the full report behind the events")
                return None
            return _read_report(message, self.context, self.report)
        self.has_events = True
        event, data = message["event"], message.get("data")
        if event == "start":
            if line.origin in self.starts:
                self.report.skip("tests without an end")
            self.starts[line.origin] = {"start": data}
            if cookie := _find_cookie(data):
                self.cookies.append(cookie)
        elif event == "error" and line.origin in self.starts:
            self.starts[line.origin]["error"] = find_text(message, "data") or "failed"
        elif event == "end":
            started = self.starts.pop(line.origin, None)
            if started is None:
                raise InvalidValue("started_at", "is missing: the start of this test is not in the log")
            return _read_report({**started, "end": data}, self.context, self.report)
        return None


def _find_cookie(start: object) -> str:
    """Return the identity of a test; "" where its start does not have it."""
    return find_text(start, "cookie") if isinstance(start, dict) else ""


def _read_report(message: Mapping[str, object], context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a test; ``None`` for one that failed or was not of TCP, which is counted.

    Raises
    ------
    InvalidValue : it is damaged.
    """
    start, end = find_object(message, "start"), find_object(message, "end")
    settings = find_object(start, "test_start")
    received, sent = find_object(end, "sum_received"), find_object(end, "sum_sent")
    if not is_test(message) or find_text(message, "error") or find_text(settings, "protocol") != "TCP":
        report.skip(_NO_TEST)
        return None
    if find_text(settings, "bidir") == "1" or any(str(name).endswith("bidir_reverse") for name in end):
        report.skip("tests of both directions at once, whose halves shared the path")
        return None
    moved = read_count("outcome.bytes_moved", received, "bytes")
    if moved == 0:
        raise InvalidValue("outcome.bytes_moved", "is zero")
    duration_s = parse_positive("ended_at", find_text(received, "seconds"))
    connected_at = parse_moment("started_at", find_text(find_object(start, "timestamp"), "timesecs"))
    started_at = connected_at + timedelta(seconds=read_count("started_at", settings, "omit"))
    is_download = find_text(settings, "reverse") == "1"
    connected = start.get("connected")
    own = connected[0] if isinstance(connected, list) and connected and isinstance(connected[0], dict) else {}
    here, there = find_text(own, "local_host"), find_text(find_object(start, "connecting_to"), "host")
    if "accepted_connection" in start:  # reverse is the client's word
        is_download = not is_download
        there = find_text(find_object(start, "accepted_connection"), "host") or find_text(own, "remote_host")
    segment_bytes = read_count("path", start, "tcp_mss_default")
    return LoggedTransfer(
        started_at=started_at,
        ended_at=started_at + timedelta(seconds=duration_s),
        source=name_end("source", there if is_download else here, context),
        destination=name_end("destination", here if is_download else there, context),
        mover="iperf3",
        version=find_text(start, "version").removeprefix("iperf ") or None,
        protocol="tcp",
        direction=Direction.DOWNLOAD if is_download else Direction.UPLOAD,
        status=Status.SUCCEEDED,
        moved_bytes=moved,
        total_bytes=moved,
        identity=_find_cookie(start),
        retransmitted_bytes=segment_bytes * read_count("path", sent, "retransmits") if segment_bytes else None,
        path=_read_path(end),
        parameters=Parameters(
            parallelism=round_within(
                "parameters.parallelism", read_count("parameters.parallelism", settings, "num_streams"), 1, MAX_SETTING
            )
        ),
    )


def _read_path(end: Mapping[str, object]) -> Path:
    """Return the round-trip times that the sender's streams saw, which iperf3 writes in µs."""
    streams = end.get("streams")
    senders = (
        [find_object(each, "sender") for each in streams if isinstance(each, dict)] if isinstance(streams, list) else []
    )
    means = [seen for each in senders if (seen := read_count("path.rtt_s", each, "mean_rtt"))]
    lowest = [seen for each in senders if (seen := read_count("path.min_rtt_s", each, "min_rtt"))]
    return Path(rtt_s=sum(means) / len(means) / 1e6 if means else None, min_rtt_s=min(lowest) / 1e6 if lowest else None)
