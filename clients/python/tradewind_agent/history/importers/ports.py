"""What every importer takes and gives: context in, transfer records and refused rows out, a report at the end."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Protocol

from tradewind.energy.measured import Host
from tradewind.errors import InvalidValue
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.quick_init import add_quick_init
from tradewind.transfer import TransferRecord
from tradewind_agent.history.importers.endpoints import name_endpoint
from tradewind_agent.history.importers.fields import require_name
from tradewind_agent.history.importers.log_text import LogText

SYNTHETIC_START = datetime(2000, 1, 1, tzinfo=UTC)
"""Where rows without any time begin unless the context says otherwise; named in the report whenever it is used."""

SHOWN_ROWS = 5
"""Refused rows of each kind that a report names."""

MAX_REASON = 400
"""Characters of a reason that a report shows."""

RAW_EXCERPT = 200
"""Characters of a refused row that are kept with it."""


class DecimalMark(StrEnum):
    """What separates the whole part of a number from its fraction."""

    POINT = "point"
    COMMA = "comma"


class DateOrder(StrEnum):
    """In which order dates in numbers have day, month and year."""

    YMD = "ymd"
    MDY = "mdy"
    DMY = "dmy"


class EmptyLog(InvalidValue):
    """A log without any line: nothing was written to it yet, or since it was rotated."""

    def __init__(self) -> None:
        super().__init__("file", "is empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportContext:
    """What old logs lack. Values of the log itself come first; ``None`` means not given.

    Attributes
    ----------
    source, destination : endpoint names for logs or rows that name none.
    bandwidth_bps : rate of the link, bit/s.
    rtt_s : round-trip time, s.
    timezone : zone of times written without one; UTC (a reported assumption) if not given.
    mover, network : program that moved the bytes, label of the network.
    started_at : start of the first row where a log holds no times, with zone.
    energy_host : the end that energy columns are about.
    in_parts : a log is read part by part as it grows, so that rows which only follow each other have no times.
    is_head_conclusive : the log's beginning alone decides what its columns mean, not by the part that follows.
    units : units of columns by title or quantity, such as ``{"size": "MB"}``; they go before all evidence.
    decimal : the decimal mark of numbers in a CSV log.
    date_order : the order of dates such as ``03/01/2026`` in a CSV log.
    aliases : names of endpoints by patterns of addresses, such as ``{"192.0.2.*": "pool"}``; the first that fits.
    written_at : when the log was last written to; it dates times that have no year.
    repair_sizes : replace a file size that contradicts time and energy by that of the sets of its file type that agree,
        instead of refusing the rows.
    """

    source: str | None = None
    destination: str | None = None
    bandwidth_bps: float | None = None
    rtt_s: float | None = None
    timezone: tzinfo | None = None
    mover: str | None = None
    network: str | None = None
    started_at: datetime | None = None
    energy_host: Host = Host.DESTINATION
    in_parts: bool = False
    is_head_conclusive: bool = False
    repair_sizes: bool = False
    units: Mapping[str, str] = field(default_factory=dict)
    decimal: DecimalMark | None = None
    date_order: DateOrder | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    written_at: datetime | None = None

    def __post_init__(self) -> None:
        for option, value in (("--bandwidth", self.bandwidth_bps), ("--rtt", self.rtt_s)):
            if value is not None and not 0 < value < float("inf"):
                raise InvalidValue(option, f"must be above 0 and finite, got {value}")
        if self.started_at is not None and self.started_at.utcoffset() is None:
            raise InvalidValue("--start", "needs a time zone, such as 2024-05-01T00:00:00Z")
        for name in ("source", "destination"):
            if (given := getattr(self, name)) is not None:  # as the same host in a log
                object.__setattr__(self, name, name_endpoint(given, {}))

    @property
    def zone(self) -> tzinfo:
        return self.timezone or UTC

    @property
    def path(self) -> Path:
        """What is given of the path."""
        if self.bandwidth_bps is self.rtt_s is None:
            return UNKNOWN_PATH
        return Path(bandwidth_bps=self.bandwidth_bps, rtt_s=self.rtt_s)


@add_quick_init
@dataclass(frozen=True, slots=True)
class ImportedRow:
    """One row that became a record.

    ``group`` : labels the set of the file that it belongs to, "" if there is but one.
    ``text`` : the line that says when it ended, by which a repetition is recognised; "" where its reader sees to that.
    """

    record: TransferRecord
    row: int
    group: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """One row that did not: line number (1 is the first line), field, reason in one phrase, beginning of the row."""

    row: int
    field: str
    reason: str
    raw: str


def refuse_row(row: int, invalid: InvalidValue, raw: str) -> RefusedRow:
    """Return the refusal that an invalid value of a row means."""
    return RefusedRow(row, invalid.field, invalid.reason, raw[:RAW_EXCERPT])


@dataclass(frozen=True, slots=True)
class UnitInference:
    """The unit that a column was taken to be in, and why."""

    column: str
    unit: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.column} in {self.unit}: {self.evidence}"


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """What an import found; complete once the rows are exhausted.

    Attributes
    ----------
    format : name of the importer.
    rows_read, imported : rows seen (headers and chatter of a log are no rows) and records given.
    refused : number of rows by field and kind of reason (the reason up to its first colon or figure).
    refused_rows : numbers of the first few of them.
    first_reasons : the reason of the first of them as a whole, with its figures and what to do.
    skipped : number of lines that are no transfer and no fault, such as listings and messages, by what they are.
    units : unit of each column, with evidence.
    assumptions : what was taken for granted, in words, each once.
    find_foreign : returns why the present line is refused rather than skipped, because it is of another format.
    """

    format: str
    rows_read: int = 0
    imported: int = 0
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused_rows: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    first_reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    units: list[UnitInference] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    find_foreign: Callable[[], RefusedRow | None] = field(default=lambda: None, repr=False, compare=False)

    @property
    def refused_count(self) -> int:
        return self.refused.total()

    def assume(self, assumption: str) -> None:
        """Note an assumption once."""
        if assumption not in self.assumptions:
            self.assumptions.append(assumption)

    def count(self, item: ImportedRow | RefusedRow) -> None:
        """Count one row."""
        self.rows_read += 1
        if isinstance(item, ImportedRow):
            self.imported += 1
        else:
            self.refuse(item.row, item.field, item.reason)

    def refuse(self, row: int, wrong: str, reason: str) -> None:
        """Count a refused row by the field that is wrong and why."""
        kind = wrong, _strip_figures(reason)
        self.refused[kind] += 1
        self.first_reasons.setdefault(kind, reason[:MAX_REASON])
        rows = self.refused_rows.setdefault(kind, [])
        if len(rows) < SHOWN_ROWS:
            rows.append(row)

    def skip(self, description: str) -> None:
        """Count a line that is no transfer and no fault; ``description`` is in the plural, such as "listings"."""
        if (foreign := self.find_foreign()) is None:
            self.skipped[description] += 1
        else:
            self.rows_read += 1
            self.refuse(foreign.row, foreign.field, foreign.reason)


def _strip_figures(reason: str) -> str:
    """Return a reason without the values in it, so that a million refusals still make a short list."""
    return reason.partition(",")[0].partition(":")[0].partition(" (")[0][:RAW_EXCERPT]


class Importer(Protocol):
    """One format of logs."""

    @property
    def name(self) -> str:
        """Name of the format, as given to ``--format``."""

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield records and refusals of a log in one pass of flat memory; units and assumptions go to the report.

        Raises
        ------
        InvalidValue : the log as a whole cannot be read, or lacks what only the context can give (the field is then
            the option).
        """


def require_ends(context: ImportContext) -> tuple[str, str]:
    """Return the ends that a log does not name and the context must.

    Raises
    ------
    InvalidValue : one was not given; the reason names the option.
    """
    return (
        require_name("source", "--source", context.source),
        require_name("destination", "--destination", context.destination),
    )
