"""Transfer log of FTP servers (wu-ftpd, ProFTPD, vsftpd): a line a file, written when it ended, with whole seconds.

The server's own name is not in a line. See xferlog(5).
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from tradewind.dataset import DataSet
from tradewind.errors import InvalidValue
from tradewind.path import Path
from tradewind.transfer import Direction, LinkKey, Mover, Status, TransferOutcome, TransferRecord
from tradewind.units import compute_throughput_bps
from tradewind_agent.history.importers.csv_logs.instants import spell_out
from tradewind_agent.history.importers.endpoints import name_endpoint
from tradewind_agent.history.importers.fields import check_instant, check_name, round_within
from tradewind_agent.history.importers.identity import compute_record_id
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow
from tradewind_agent.history.importers.sessions import read_sessions

LINE = re.compile(
    r"(?P<ended>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}) (?P<seconds>\d{1,9}) (?P<host>\S+) "
    r"(?P<bytes>\d{1,18}) \S.* [ab] [CUT_]+ (?P<way>[oid]) [agr] \S+ (?P<service>\S+) [01] \S+(?: (?P<end>[ci]))?"
)


class XferlogImporter:
    """Logs in the format of xferlog."""

    name = "xferlog"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a file; otherwise as ``Importer.read_rows``."""
        if context.timezone is None:
            report.assume("times without a zone are taken as UTC; --timezone names another")
        report.assume("durations are in full seconds, as the server writes them")
        return read_sessions(text.read_lines(), lambda line: _read_record(line, context, report), report)


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> TransferRecord | None:
    """Return the record of a line; ``None`` for lines of no transfer, which are counted.

    Raises
    ------
    InvalidValue : the server's name is needed, or a value is impossible.
    """
    found = LINE.fullmatch(line.text.strip())
    if found is None or found["way"] == "d":
        if line.text.strip():
            report.skip("deletions, and lines of no transfer")
        return None
    size = round_within("dataset.total_bytes", int(found["bytes"]), 0)
    succeeded = found["end"] != "i"
    if size == 0 or found["seconds"] == "0":
        report.skip("empty files, and transfers of less than a second, whose rate is unknown")
        return None
    duration_s = float(found["seconds"])
    ended_at = _parse_end(found["ended"], context)
    is_sent = found["way"] == "o"
    source, destination = _name_ends(found["host"], context, is_sent=is_sent)
    mover = Mover(context.mover or check_name("mover.name", found["service"]))
    return TransferRecord(
        id=compute_record_id(LinkKey(source, destination, context.network, mover.name), line.number, line.text),
        started_at=check_instant("started_at", ended_at - timedelta(seconds=duration_s)),
        ended_at=check_instant("ended_at", ended_at),
        source=source,
        destination=destination,
        mover=mover,
        protocol=check_name("protocol", found["service"]).lower(),
        direction=Direction.DOWNLOAD if is_sent else Direction.UPLOAD,
        dataset=DataSet(file_count=1, total_bytes=size),
        outcome=TransferOutcome(
            status=Status.SUCCEEDED if succeeded else Status.FAILED,
            bytes_moved=size,
            files_done=int(succeeded),
            files_failed=int(not succeeded),
            throughput_bps=compute_throughput_bps(size, duration_s),
        ),
        path=Path(bandwidth_bps=context.bandwidth_bps, rtt_s=context.rtt_s),
        network=context.network,
    )


def _parse_end(text: str, context: ImportContext) -> datetime:
    try:
        return datetime.fromisoformat(spell_out(text)).replace(tzinfo=context.zone)
    except ValueError:
        raise InvalidValue("ended_at", f"does not exist: {text!r}") from None


def _name_ends(host: str, context: ImportContext, *, is_sent: bool) -> tuple[str, str]:
    """Return source and destination: the client is in the line, the server is what the user names."""
    client = check_name("destination" if is_sent else "source", name_endpoint(host, context.aliases))
    end, server = ("source", context.source) if is_sent else ("destination", context.destination)
    if server is None:
        raise InvalidValue(end, f"is the server, which the line does not name; give it with --{end}")
    server = check_name(end, server)
    return (server, client) if is_sent else (client, server)
