r"""Reports of ``curl -w '%{json}\n'``: an object a transfer, without the time of day."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status, TransferRecord
from tradewind.units import BITS_PER_BYTE, compute_throughput_bps, format_bps
from tradewind_agent.history.importers.fields import (
    parse_number,
    parse_positive,
    require_possible_rate,
)
from tradewind_agent.history.importers.json_messages import find_message, find_text, read_count
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, find_url_part, is_local_copy, name_end
from tradewind_agent.history.importers.ports import (
    SYNTHETIC_START,
    ImportContext,
    ImportedRow,
    ImportReport,
    RefusedRow,
    refuse_row,
)

_OK_RESPONSES = range(200, 400)
_MOST_APART = 5.0
"""By which curl's own rate may differ from bytes over time; units differ by 8 or more."""


class CurlImporter:
    """What curl writes out after each transfer."""

    name = "curl"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a transfer; otherwise as ``Importer.read_rows``."""
        if context.in_parts:
            raise InvalidValue("started_at", "is not in the log of curl: `logs upload` reads it once it is complete")
        start = context.started_at or SYNTHETIC_START
        report.assume(f"transfers have no time and follow each other by their duration, from {start.isoformat()}")
        return _list_rows(text, context, report, start)


def _list_rows(
    text: LogText, context: ImportContext, report: ImportReport, start: datetime
) -> Iterator[ImportedRow | RefusedRow]:
    for line in text.read_lines():
        if line.fault is None and not line.text.lstrip().startswith("{"):
            if line.text.strip():
                report.skip("no reports of curl")
            continue
        try:
            if line.fault is not None:
                raise line.fault
            record = _read_record(line, context, start)
        except InvalidValue as invalid:
            yield refuse_row(line.number, invalid, line.text)
            continue
        if record is None:
            report.skip("transfers of no byte, and of local files")
            continue
        start = record.ended_at
        yield ImportedRow(record, line.number)


def _read_record(line: Line, context: ImportContext, start: datetime) -> TransferRecord | None:
    """Return the record of a report; ``None`` if it moved nothing over the network and did not fail.

    Raises
    ------
    InvalidValue : a value is missing or impossible.
    """
    message = find_message(line.text)
    received, sent = (read_count("outcome.bytes_moved", message, key) for key in ("size_download", "size_upload"))
    if is_local_copy(find_text(message, "scheme") or find_url_part(_find_url(message), "scheme")):
        return None
    moved, is_upload = max(received, sent), sent > received
    succeeded = _has_succeeded(message)
    if moved == 0 and succeeded:
        return None
    duration_s = parse_positive("ended_at", find_text(message, "time_total"))
    rate_bps = compute_throughput_bps(moved, duration_s)
    require_possible_rate(rate_bps, context.bandwidth_bps)
    _reject_contradiction(message, "speed_upload" if is_upload else "speed_download", rate_bps)
    remote = find_url_part(_find_url(message), "hostname")
    source = name_end("source", "" if is_upload else remote, context)
    destination = name_end("destination", remote if is_upload else "", context)
    version = find_text(message, "curl_version").removeprefix("libcurl/").split(" ")[0] or None
    return LoggedTransfer(
        started_at=start,
        ended_at=start + timedelta(seconds=duration_s),
        source=source,
        destination=destination,
        mover="curl",
        version=version,
        protocol=find_text(message, "scheme").lower() or "unknown",
        direction=Direction.UPLOAD if is_upload else Direction.DOWNLOAD,
        status=Status.SUCCEEDED if succeeded else Status.FAILED,
        moved_bytes=moved,
        total_bytes=max(moved, 1),
        rate_bps=rate_bps,
    ).to_record(line, context)


def _find_url(message: Mapping[str, object]) -> str:
    return find_text(message, "url_effective") or find_text(message, "url")


def _reject_contradiction(message: Mapping[str, object], key: str, rate_bps: float) -> None:
    """Refuse a report whose rate contradicts its bytes and time, as where a script wrote one in another unit.

    Raises
    ------
    InvalidValue : they differ as units do.
    """
    speed = find_text(message, key)
    logged_bps = BITS_PER_BYTE * parse_number("outcome.throughput_bps", speed) if speed else 0.0
    if min(logged_bps, rate_bps) > 0 and max(logged_bps / rate_bps, rate_bps / logged_bps) > _MOST_APART:
        rates = f"{format_bps(logged_bps)} by {key}, {format_bps(rate_bps)} by bytes and time_total"
        raise InvalidValue("outcome.throughput_bps", f"is {rates}: curl writes B/s and s")


def _has_succeeded(message: Mapping[str, object]) -> bool:
    """Return whether curl ended with 0 and the server's last answer was a success, of HTTP or of FTP."""
    if find_text(message, "exitcode") not in ("", "0"):
        return False
    code = find_text(message, "response_code") or find_text(message, "http_code")
    return not code or code == "0" or int(parse_number("outcome.status", code)) in _OK_RESPONSES
