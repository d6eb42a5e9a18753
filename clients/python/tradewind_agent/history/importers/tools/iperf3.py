"""Reports of ``iperf3 --json``: a test is a record of its own mover, whose path others learn from.

It moves memory and not files, so that its settings say nothing of a program that copies.
"""

from collections.abc import Mapping
from datetime import timedelta

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.fields import MAX_SETTING, parse_positive, round_within
from tradewind_agent.history.importers.json_messages import find_message, find_object, find_text, read_count
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, name_end, parse_moment
from tradewind_agent.history.importers.ports import ImportContext, ImportReport
from tradewind_agent.history.importers.sessions import SessionImporter


def is_test(message: Mapping[str, object]) -> bool:
    """Return whether a message is the report of a test, also of one that failed."""
    start = message.get("start")
    return isinstance(start, dict) and "end" in message and find_text(start, "version").startswith("iperf")


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a test; ``None`` for one that failed or was not of TCP, which is counted.

    Raises
    ------
    InvalidValue : it is damaged.
    """
    message = find_message(line.text)
    start, end = find_object(message, "start"), find_object(message, "end")
    settings = find_object(start, "test_start")
    received, sent = find_object(end, "sum_received"), find_object(end, "sum_sent")
    if not is_test(message) or find_text(message, "error") or find_text(settings, "protocol") != "TCP":
        report.skip("tests that failed or were not of TCP, and other objects")
        return None
    if find_text(settings, "bidir") == "1" or any(str(name).endswith("bidir_reverse") for name in end):
        report.skip("tests of both directions at once, whose halves shared the path")
        return None
    moved = read_count("outcome.bytes_moved", received, "bytes")
    if moved == 0:
        raise InvalidValue("outcome.bytes_moved", "is zero")
    duration_s = parse_positive("ended_at", find_text(received, "seconds"))
    started_at = parse_moment("started_at", find_text(find_object(start, "timestamp"), "timesecs"))
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


IPERF3 = SessionImporter(
    name="iperf3",
    read=_read_record,
    assumptions=("a test moves memory and not files: it is a link of its own, whose path is known by it",),
)
