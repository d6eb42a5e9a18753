"""Log of wget (``-o`` or ``-a``), in any language: a file that was saved is a record.

Sizes are exact; the mean rate is rounded to three digits by wget, in powers of 1024 unless it counts bits.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status, TransferRecord
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.history.importers.fields import require_possible_rate, round_within
from tradewind_agent.history.importers.instants import attach_zone
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import (
    TWO_IN_ONE,
    LoggedTransfer,
    assume_first_time,
    find_url_part,
    name_end,
)
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow, refuse_row
from tradewind_agent.history.importers.repeats import drop_repeated
from tradewind_agent.history.importers.sessions import UTC_ASSUMED

REQUEST = re.compile(r"--(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)--  (?:\([^)]*\) +)?(?P<url>\S+)")
SAVED = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \((?P<rate>\d+(?:[.,]\d+)?) (?P<power>[KMGT]?)(?P<unit>[Bb])/s\) [-–—] "
    r".*\[(?P<moved>\d+)(?:/(?P<size>\d+))?\]$"
)
_RATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \([^)]*/s\) [-–—] ")
_UNKNOWN_SAVED = re.compile(_RATE.pattern + r".*\[\d+(?:/\d+)?\]")
"""A file that was saved, in other words, or with another line behind it."""
BRIEF = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d URL:\S+ \[\d+(?:/\d+)?\] -> ")
_ANSWER = re.compile(r".*==> REST \d+ (?:\.\.\.|…)|.*(?:\.\.\.|…) (?P<code>\d{3})\b(?!%)")
"""The answer of a server, or FTP's command for the rest of a file, whose answer has no code in the log.

The dots of the progress stand before a number, too, of per cent.
"""

_BROKEN = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \((?P<rate>\d+(?:[.,]\d+)?) (?P<power>[KMGT]?)(?P<unit>[Bb])/s\) [-–—] "
    r".* (?P<at_byte>\d+)(?:/(?P<size>\d+))?(?: \([^)]*\))?\. "
)
_NOT_GIVEN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [^\W\d_]{2,12} [45]\d\d\s?[:：]")
"""The answer of a server without the file, behind the word for an error in any language."""

_GIVES_UP = re.compile(r"\. (?:Giving up|Gebe auf|Abandon|Abandonando|Rinuncio)\.")
_NO_TIMES = InvalidValue("started_at", "is not in the log of wget --no-verbose; leave that option out")
_TWO_LINES = InvalidValue("row", TWO_IN_ONE)
_IN_OTHER_WORDS = InvalidValue("row", "is of a file that was saved, but not as wget writes it")
_PARTIAL = "206"
_IN_BRACKETS = re.compile(r"\([^)]*\)")
_SIZE_AND_REST = 2
_POWERS = " KMGT"
_LONGEST_S = 1e8


@dataclass(slots=True)
class _Request:
    """The file that is being fetched: its address, the last answer's code, and what an earlier try left on the disk.

    ``left_bytes`` : what a partial answer has, by the line of lengths; an earlier run may have left the rest.
    ``has_lines`` : lines are behind its first one, in whatever language; not all answers of FTP have a code there.
    """

    url: str = ""
    requested_at: str = ""
    code: str = ""
    held_bytes: int = 0
    left_bytes: int | None = None
    has_lines: bool = False

    def note(self, text: str, report: ImportReport) -> None:
        """Add what a line behind the first one says; an empty one says nothing."""
        if not text.strip():
            return
        if _NOT_GIVEN.match(text):
            report.skip("files that the server did not give")
        self.has_lines = True
        if (answer := _ANSWER.match(text)) is not None:
            self.code, self.left_bytes = answer["code"] or _PARTIAL, None
        elif self.code == _PARTIAL and self.left_bytes is None:
            self.left_bytes = _read_left_bytes(text)

    def require_own(self, ended_at: str) -> None:
        """Refuse an end that is right behind this request though it was not after it, as where the newest is first.

        Raises
        ------
        InvalidValue : says how to sort the log.
        """
        if self.url and not self.has_lines and ended_at <= self.requested_at:
            raise InvalidValue("row", "is of another request; sort the log by time, by `tac` if the newest is first")


class WgetImporter:
    """Logs of wget with its default verbosity."""

    name = "wget"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a file; otherwise as ``Importer.read_rows``."""
        if context.timezone is None:
            report.assume(UTC_ASSUMED)
        report.assume("a file lasts for its bytes over the mean rate, as rounded by wget")
        # One address is saved once in a second.
        return drop_repeated(_list_rows(text, context, report), report, is_unique=True)


def _list_rows(text: LogText, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    request = _Request()
    for line in text.read_lines():
        try:
            if line.fault is not None or BRIEF.match(line.text):
                raise line.fault or _NO_TIMES
            if (started := REQUEST.match(line.text)) is not None:
                same = started["url"] == request.url
                request = _Request(started["url"], started["at"], held_bytes=request.held_bytes if same else 0)
            elif (saved := SAVED.match(line.text.rstrip())) is not None:
                record = _read_record(saved, line, request, context, report)
                saved_text = f"{request.url}\n{line.text}"
                request = _Request()
                if record is not None:
                    yield ImportedRow(record, line.number, text=saved_text)
            elif (broken := _BROKEN.match(line.text)) is not None:
                if _GIVES_UP.search(line.text) is None:
                    request = replace(request, held_bytes=int(broken["at_byte"][:18]))
                    continue
                yield from _read_failure(broken, line, request, context, report)
                request = _Request()
            elif _UNKNOWN_SAVED.match(line.text):
                request = _find_following(line.text)
                yield refuse_row(line.number, _IN_OTHER_WORDS if request.url == "" else _TWO_LINES, line.text)
            else:
                request.note(line.text, report)
        except InvalidValue as invalid:
            yield refuse_row(line.number, invalid, line.text)


def _find_following(text: str) -> _Request:
    """Return the request that begins within a line, an empty one if there is none."""
    following = REQUEST.search(text, 1)
    return _Request() if following is None else _Request(following["url"], following["at"])


def _read_left_bytes(text: str) -> int | None:
    """Return the second number of ``Length: 30000000 (29M), 10000000 (9.5M) remaining [type]``, in any language."""
    numbers = re.findall(r"\d+", _IN_BRACKETS.sub("", text.partition("[")[0]))
    is_length = (
        len(numbers) == _SIZE_AND_REST and not text.startswith(" ") and int(numbers[1][:18]) <= int(numbers[0][:18])
    )
    return int(numbers[1][:18]) if is_length else None


def _read_record(
    saved: re.Match[str], line: Line, request: _Request, context: ImportContext, report: ImportReport
) -> TransferRecord | None:
    """Return the record of a saved file; ``None`` for an empty one. Of several tries the last one counts.

    Raises
    ------
    InvalidValue : its rate or time is impossible, another line begins within it, or it is of another request.
    """
    if _RATE.search(line.text, 1):
        raise _TWO_LINES
    request.require_own(saved["at"])
    held = request.held_bytes if request.code == _PARTIAL else 0
    came = int(saved["moved"][:19]) - held if request.left_bytes is None else request.left_bytes
    moved = round_within("outcome.bytes_moved", came, 0)
    if moved == 0:
        report.skip("empty files")
        return None
    record = _build_record(saved, line, request, context, moved=moved, size=moved, status=Status.SUCCEEDED)
    assume_first_time(record.ended_at, context, report)
    return record


def _read_failure(
    broken: re.Match[str], line: Line, request: _Request, context: ImportContext, report: ImportReport
) -> Iterator[ImportedRow]:
    """Yield the record of a file that wget gave up; none if it moved nothing.

    What earlier tries brought is none of its bytes.

    Raises
    ------
    InvalidValue : its rate or time is impossible, or it is of another request.
    """
    request.require_own(broken["at"])
    held = request.held_bytes if request.code == _PARTIAL else 0
    moved = round_within("outcome.bytes_moved", int(broken["at_byte"][:18]) - held, 0)
    if moved == 0:
        report.skip("files that were given up before their first byte")
        return
    size = max(int((broken["size"] or broken["at_byte"])[:18]), moved)
    record = _build_record(broken, line, request, context, moved=moved, size=size, status=Status.FAILED)
    yield ImportedRow(record, line.number, text=f"{request.url}\n{line.text}")


def _build_record(
    saved: re.Match[str],
    line: Line,
    request: _Request,
    context: ImportContext,
    *,
    moved: int,
    size: int,
    status: Status,
) -> TransferRecord:
    power = float(1000 if saved["unit"] == "b" else 1024) ** _POWERS.index(saved["power"] or " ")
    rate_bps = float(saved["rate"].replace(",", ".")) * power * (1 if saved["unit"] == "b" else BITS_PER_BYTE)
    require_possible_rate(rate_bps, context.bandwidth_bps)
    if rate_bps == 0 or (duration_s := BITS_PER_BYTE * moved / rate_bps) > _LONGEST_S:
        raise InvalidValue("outcome.throughput_bps", "is zero, or next to it")
    try:
        ended_at = attach_zone(datetime.fromisoformat(saved["at"]), context.zone).astimezone(UTC)
    except ValueError as impossible:
        raise InvalidValue("ended_at", f"does not exist: {saved['at']!r} ({impossible})") from None
    return LoggedTransfer(
        started_at=ended_at - timedelta(seconds=duration_s),
        ended_at=ended_at,
        source=name_end("source", find_url_part(request.url, "hostname"), context),
        destination=name_end("destination", "", context),
        mover="wget",
        protocol=find_url_part(request.url, "scheme") or "unknown",
        direction=Direction.DOWNLOAD,
        status=status,
        moved_bytes=moved,
        total_bytes=size,
        rate_bps=rate_bps,
    ).to_record(line, context)
