"""Jobs of azcopy: its log file, what it prints, and what it prints with ``--output-type json``; a job is a record.

The summary has the bytes and the minutes. The log file and JSON have times; what is printed as text has none.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status, TransferRecord
from tradewind.units import compute_throughput_bps
from tradewind_agent.history.importers.csv_logs.endpoints import find_endpoint, is_local
from tradewind_agent.history.importers.fields import parse_number, parse_positive, require_possible_rate, round_within
from tradewind_agent.history.importers.json_messages import find_message, find_text, read_count
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, find_url_part, name_end, parse_moment
from tradewind_agent.history.importers.ports import (
    SYNTHETIC_START,
    ImportContext,
    ImportedRow,
    ImportReport,
    RefusedRow,
    refuse_row,
)
from tradewind_agent.history.importers.repeats import SKIPPED

EVIDENCE = re.compile(
    r"(?:\d{4}/\d\d/\d\d \d\d:\d\d:\d\d )?(?:AzcopyVersion |Job [0-9a-f-]{36} (?:has started|[Ss]ummary)"
    r"|Final Job Status: |INFO: azcopy|Elapsed Time \(Minutes\): )|[\d.]+ %, \d+ Done, \d+ Failed, \d+ Pending"
)
_TIMED = re.compile(r"(?P<at>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)(?:\.\d+)? ?(?P<rest>.*)")
_SUMMARY = re.compile(r"Job (?P<job>[0-9a-f-]{36}) [Ss]ummary")
_COMMAND = re.compile(r"Job-Command (?:(?P<copies>copy|cp|c|sync|s|bench\w*)|(?P<other>[\w-]+)) (?P<rest>.*)")
_SWITCHES = frozenset(
    [
        "as-subdir",
        "asSubdir",
        "backup",
        "check-length",
        "cpk-by-value",
        "decompress",
        "delete-destination-file",
        "disable-auto-decoding",
        "dry-run",
        "follow-symlinks",
        "force-if-read-only",
        "include-directory-stub",
        "mirror-mode",
        "no-guess-mime-type",
        "preserve-info",
        "preserve-last-modified-time",
        "preserve-owner",
        "preserve-permissions",
        "preserve-posix-properties",
        "preserve-smb-info",
        "preserve-smb-permissions",
        "preserve-symlinks",
        "put-md5",
        "recursive",
        "s2s-detect-source-changed",
        "s2s-get-properties-in-backend",
        "s2s-preserve-access-tier",
        "s2s-preserve-blob-tags",
        "s2s-preserve-properties",
        "skip-version-check",
    ]
)
"""Options of azcopy that are on or off: a value stands behind ``=`` or not at all, so that the next word is a place."""

_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\S)+""")
_ENDS = 2
_FIGURE = re.compile(r"(?P<name>[A-Z][\w ()]+): *(?P<value>\S+)")
_DONE = ("Number of File Transfers Completed", "Number of Transfers Completed", "Number of Copy Transfers Completed")
_FAILED = ("Number of File Transfers Failed", "Number of Transfers Failed", "Number of Copy Transfers Failed")
_BYTES = ("Total Number of Bytes Transferred", "TotalBytesTransferred")
_RESUMED = "jobs"
_OVER_WIRE = "BytesOverWire"
_MINUTES, _END = "Elapsed Time (Minutes)", "Final Job Status"
_ADVICE = "read the log file of the job, or keep all that azcopy copy prints: azcopy jobs show has no times"
_END_ALONE = InvalidValue("started_at", f"is not in the log, which has the end of the job alone; {_ADVICE}")
_WITHOUT_BYTES = InvalidValue("outcome.bytes_moved", f"is not in the summary; {_ADVICE}")
_RESUMED_BYTES = InvalidValue("outcome.bytes_moved", "holds what the job had moved before it was resumed")
_SHORTEST = timedelta(milliseconds=1)


_OF_STORAGE = re.compile(r"([^.]+)\.(?:z\d+\.)?(?:blob|dfs|file)\.(?:storage|core)\.(.+)")
"""Blobs, Data Lake and files of one account, which have a name each."""


@dataclass(slots=True)
class _Job:
    """What was said of a job so far; ``summary`` is the line that its summary begins with."""

    id: str = ""
    version: str | None = None
    command: str = ""
    places: list[str] = field(default_factory=list)
    started_at: datetime | None = None
    seen_at: datetime | None = None
    summary: Line | None = None
    figures: dict[str, str] = field(default_factory=dict)

    @property
    def is_in_service(self) -> bool:
        """Whether the job only removed or changed objects, or had an account copy within itself."""
        hosts = {_name_account(find_url_part(place, "hostname")) for place in self.places}
        return self.command != "" or self.figures.get(_OVER_WIRE) == "0" or (len(hosts) == 1 and hosts != {""})

    def find_figure(self, *names: str) -> str:
        """Return a figure of the summary by the first of its names that is there, else ""."""
        return next((self.figures[name] for name in names if name in self.figures), "")

    def read_count(self, field_name: str, *names: str) -> int:
        """Return a whole number of the summary, 0 where it has none."""
        return round_within(field_name, parse_number(field_name, self.find_figure(*names) or "0"), 0)


def _name_account(host: str) -> str:
    """Return the account of a host of Azure's storage, whichever of its services it is; other hosts as they are."""
    found = _OF_STORAGE.fullmatch(host)
    return host if found is None else f"{found[1]}.{found[2]}"


class AzcopyImporter:
    """Logs and output of azcopy."""

    name = "azcopy"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a job; otherwise as ``Importer.read_rows``."""
        return _Reader(context, report).list_rows(text)


@dataclass(slots=True)
class _Reader:
    """Reads the jobs of a log; ``clock`` is where a job without any time begins."""

    context: ImportContext
    report: ImportReport
    job: _Job = field(default_factory=_Job)
    clock: datetime | None = None
    figures: dict[str, dict[str, str]] = field(default_factory=dict)

    def list_rows(self, text: LogText) -> Iterator[ImportedRow | RefusedRow]:
        for line in text.read_lines():
            try:
                if line.fault is not None:
                    raise line.fault
                is_over = self._read_message(line) if line.text.startswith("{") else self._read_text(line)
                if is_over and self.job.summary is not None and not self._is_repeated():
                    record = self._build_record(self.job.summary)
                    if record is not None:
                        yield ImportedRow(record, self.job.summary.number)
            except InvalidValue as invalid:
                is_over = True
                yield refuse_row(line.number, invalid, line.text)
            if is_over:
                self.job = _Job(version=self.job.version, seen_at=self.job.seen_at)
        if self.job.summary is not None:
            cut = InvalidValue("outcome.status", "is not in the log: the summary is cut off")
            yield refuse_row(self.job.summary.number, cut, self.job.summary.text)

    def _is_repeated(self) -> bool:
        """Return whether the summary was read before, and count it as skipped then.

        Raises
        ------
        InvalidValue : the same job ended before with other figures.
        """
        job = self.job
        before = self.figures.setdefault(job.id, job.figures)
        if job.id == "" or before is job.figures or job.command == _RESUMED:
            return False
        if before != job.figures:
            raise _RESUMED_BYTES
        self.report.skip(SKIPPED)
        return True

    def _read_text(self, line: Line) -> bool:
        """Note what a line of text says; return whether it ends a job."""
        job, text = self.job, line.text.split("\r")[-1].strip()
        if (timed := _TIMED.fullmatch(text)) is not None:
            text = timed["rest"].strip()
            job.seen_at = self._parse_time(timed["at"])
        if text.startswith("AzcopyVersion"):
            job.version = text.split()[-1]
        elif (command := _COMMAND.match(text)) is not None:
            job.command = command["other"] or ""
            job.places = _find_places(command["rest"]) if command["copies"] else []
        elif (summary := _SUMMARY.match(text)) is not None:
            job.id, job.summary, job.figures = summary["job"], line._replace(text=summary[0]), {}
        elif job.summary is not None and (figure := _FIGURE.fullmatch(text)) is not None:
            job.figures[figure["name"]] = figure["value"]
            return figure["name"] == _END
        return False

    def _read_message(self, line: Line) -> bool:
        """Note what a message says; return whether it ends a job."""
        message = find_message(line.text)
        try:
            content = json.loads(find_text(message, "MessageContent"))
        except (ValueError, RecursionError):
            content = {}
        at = parse_moment("started_at", find_text(message, "TimeStamp"))
        kind = find_text(message, "MessageType")
        if kind == "EndOfJob" and self.job.started_at is None:
            raise _END_ALONE
        self.job.seen_at = at
        if self.job.started_at is None or kind == "Init":  # before it azcopy looks for the files
            self.job.started_at = at
        if kind != "EndOfJob" or not isinstance(content, dict):
            return False
        self.job.id, self.job.summary = find_text(content, "JobID"), line
        self.job.figures = {
            _BYTES[0]: str(read_count("outcome.bytes_moved", content, "TotalBytesTransferred")),
            _DONE[0]: str(read_count("outcome.files_done", content, "TransfersCompleted")),
            _FAILED[0]: str(read_count("outcome.files_failed", content, "TransfersFailed")),
            _OVER_WIRE: "0" if content.get("IsCleanupJob") is True else find_text(content, _OVER_WIRE),
            _END: find_text(content, "JobStatus"),
        }
        return True

    def _build_record(self, line: Line) -> TransferRecord | None:
        """Return the record of the job whose summary begins with a line; ``None`` for one that moved nothing.

        Raises
        ------
        InvalidValue : the summary lacks something, or an end has no name.
        """
        job = self.job
        if not job.find_figure(*_BYTES):
            raise _WITHOUT_BYTES
        moved = job.read_count("outcome.bytes_moved", *_BYTES)
        done, failed = job.read_count("outcome.files_done", *_DONE), job.read_count("outcome.files_failed", *_FAILED)
        if moved == 0 and not failed:
            self.report.skip("jobs that moved no byte")
            return None
        if moved and job.command == _RESUMED:
            raise _RESUMED_BYTES
        if moved and job.is_in_service:
            self.report.skip("jobs that removed or changed objects, or copied within a service")
            return None
        started_at, ended_at = self._find_span()
        require_possible_rate(
            compute_throughput_bps(moved, (ended_at - started_at).total_seconds()), self.context.bandwidth_bps
        )
        end = job.find_figure(_END).lower()
        has_failed = bool(failed) or end.startswith("fail")
        source, destination, direction = self._find_ends()
        return LoggedTransfer(
            started_at=started_at,
            ended_at=ended_at,
            source=source,
            destination=destination,
            mover="azcopy",
            version=job.version,
            protocol="https",
            direction=direction,
            status=Status.CANCELLED if end.startswith("cancel") else Status.FAILED if has_failed else Status.SUCCEEDED,
            moved_bytes=moved,
            total_bytes=moved,
            file_count=max(done + failed, 1),
            files_done=done,
        ).to_record(line, self.context)

    def _find_span(self) -> tuple[datetime, datetime]:
        """Return start and end: the summary follows the end, and jobs without any time follow each other."""
        job = self.job
        if job.started_at is not None and job.seen_at is not None:
            return job.started_at, max(job.seen_at, job.started_at + _SHORTEST)
        minutes = job.find_figure(_MINUTES)
        if not minutes:
            raise InvalidValue("ended_at", f"is not in the summary, which has no {_MINUTES}; {_ADVICE}")
        lasted = timedelta(minutes=parse_positive("ended_at", minutes))
        if job.seen_at is not None:
            return job.seen_at - lasted, job.seen_at
        if self.context.in_parts:
            raise InvalidValue("started_at", "is not in what azcopy prints: `logs upload` reads it once it is complete")
        start = self.clock or self.context.started_at or SYNTHETIC_START
        self.report.assume(f"jobs have no time and follow each other by their duration, from {start.isoformat()}")
        self.clock = start + lasted
        return start, self.clock

    def _find_ends(self) -> tuple[str, str, Direction]:
        """Return the ends and the direction, by the command where the log has it."""
        if len(self.job.places) < 2:
            self.report.assume("the log does not tell local from remote: jobs are recorded as uploads")
            return name_end("source", "", self.context), name_end("destination", "", self.context), Direction.UPLOAD
        first, second = self.job.places
        direction = (
            Direction.THIRD_PARTY
            if not (is_local(first) or is_local(second))
            else Direction.UPLOAD
            if is_local(first)
            else Direction.DOWNLOAD
        )
        aliases = self.context.aliases
        return (
            find_endpoint("source", first, self.context.source, aliases),
            find_endpoint("destination", second, self.context.destination, aliases),
            direction,
        )

    def _parse_time(self, text: str) -> datetime:
        """Return a time of the log file, which is in UTC whatever the host's zone."""
        try:
            return datetime.strptime(text, "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            raise InvalidValue("ended_at", f"does not exist: {text!r}") from None


def _find_places(command: str) -> list[str]:
    """Return source and destination of a command line, or nothing where the options leave other than two words.

    A word behind an option that is no switch is taken for its value, unless it is an address.
    """
    places, after_option = [], False
    for word in _WORD.findall(command):
        plain = word.strip("\"'")
        if word.startswith("-"):
            after_option = "=" not in word and word.lstrip("-") not in _SWITCHES
            continue
        if not after_option or "://" in plain:
            places.append(plain)
        after_option = False
    return places if len(places) == _ENDS else []
