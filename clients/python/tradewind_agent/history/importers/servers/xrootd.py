"""Records of XRootD's monitoring: a file that a client closed, or a copy between servers, as collectors publish them.

Members are those of the OSG's collector (``read``, ``write``, ``server_hostname``) or of WLCG's (``read_bytes``,
``server_host`` and ``server_domain``). A server counts time from open to close.
"""

from collections.abc import Iterator, Mapping

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.json_messages import find_message, find_text, read_count
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, name_end, parse_moment
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow
from tradewind_agent.history.importers.servers.xrootd_tpc import CopyReader, is_copy
from tradewind_agent.history.importers.sessions import read_sessions

_TIMES = frozenset({"start_time", "end_time"})
_COUNTS = ({"read", "readv", "write"}, {"read_bytes"}, {"read_bytes_at_close"}, {"write_bytes_at_close"})
_NAMES = frozenset({"server_hostname", "server_host", "server_ip", "serverID", "file_lfn"})


def is_monitoring(message: Mapping[str, object]) -> bool:
    """Return whether a message is a closed file or a copy of XRootD's monitoring."""
    return is_closed_file(message) or is_copy(message)


def is_closed_file(message: Mapping[str, object]) -> bool:
    """Return whether a message is a closed file of XRootD's monitoring."""
    keys = message.keys()
    return keys >= _TIMES and any(keys >= names for names in _COUNTS) and bool(keys & _NAMES)


def _read_record(line: Line, copies: CopyReader, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a message; ``None`` for one that moved nothing, or is of no transfer, which is counted.

    Raises
    ------
    InvalidValue : it is damaged, or an end is not in it.
    """
    message = find_message(line.text)
    if is_copy(message):
        return copies.read(message, context, report)
    if not is_closed_file(message):
        report.skip("messages of no closed file and of no copy")
        return None
    if message.get("HasFileCloseMsg") in (0, False, "0"):
        report.skip("files whose closing the monitoring missed, so that their bytes and end are not known")
        return None
    sent, taken = _count_bytes(message)
    if sent and taken:
        raise InvalidValue("direction", "is both: the file was read and written while it was open")
    started_at = parse_moment("started_at", find_text(message, "start_time"))
    ended_at = parse_moment("ended_at", find_text(message, "end_time"))
    if not (sent or taken) or started_at == ended_at:
        report.skip("files that were not read or written, or were open for less than a second")
        return None
    server, client = _find_host(message, "server"), _find_host(message, "client")
    return LoggedTransfer(
        started_at=started_at,
        ended_at=ended_at,
        source=name_end("source", server if sent else client, context),
        destination=name_end("destination", client if sent else server, context),
        mover="xrootd",
        protocol=find_text(message, "protocol").lower() or "xroot",
        direction=Direction.DOWNLOAD if sent else Direction.UPLOAD,
        status=Status.SUCCEEDED,
        moved_bytes=sent or taken,
        total_bytes=sent or taken,
        identity=line.text if "unique_id" in message else "",
    )


def _count_bytes(message: Mapping[str, object]) -> tuple[int, int]:
    """Return the bytes that the server sent, and those that it took."""

    def count(*keys: str) -> int:
        return max(read_count("outcome.bytes_moved", message, key) for key in keys)

    return max(count("read") + count("readv"), count("read_bytes", "read_bytes_at_close")), count(
        "write", "write_bytes", "write_bytes_at_close"
    )


def _find_host(message: Mapping[str, object], side: str) -> str:
    host, domain = find_text(message, f"{side}_host"), find_text(message, f"{side}_domain")
    if host and domain and "." not in host:
        return f"{host}.{domain}"
    others = ("server_hostname", "server_ip", "server") if side == "server" else ("host",)
    return host or next((name for key in others if (name := find_text(message, key))), "")


class XrootdImporter:
    """Closed files, and copies between servers."""

    name = "xrootd"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a file; otherwise as ``Importer.read_rows``."""
        report.assume("a file lasts from open to close, in which its client may have done other work")
        copies = CopyReader()
        copies.note_beginning(text.read_sample())
        return read_sessions(text, lambda line: _read_record(line, copies, context, report), context, report)
