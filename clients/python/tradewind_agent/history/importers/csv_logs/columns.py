"""Which column of a CSV log holds what: header names and their synonyms, and units that a header declares."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.units import format_count

DELIMITERS = (",", ";", "\t", "|")

SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        synonym: quantity
        for quantity, synonyms in {
            "file_size": "filesize avgfilesize averagefilesize meanfilesize avgsize size filesizeavg",
            "total_size": "totalsize totalbytes datasetsize datasize bytes nbytes bytesmoved transfersize",
            "file_count": "filecount filenumbers filenumber numfiles numberoffiles nfiles files count",
            "bandwidth": "bandwidth bw linkbandwidth linkcapacity capacity linkrate linkspeed networkbandwidth",
            "rtt": "rtt avgrtt averagertt meanrtt roundtriptime",
            "buffer": "buffersize bufsize buffer tcpbuffer tcpbuffersize tcpbufsize socketbuffer windowsize",
            "parallelism": "parallelism p plevel parallel streams nstreams numstreams parallelstreams parallellevel",
            "concurrency": "concurrency cc cclevel concurrent channels concurrencylevel numchannels",
            "pipelining": "pipelining pp pplevel pipeline pipelinelevel pipelininglevel",
            "throughput": "throughput totalavgtput avgtput tput avgthroughput averagethroughput meanthroughput goodput "
            "totalthroughput transferrate rate speed avgspeed totaltput",
            "duration": "duration transferduration transfertime elapsed elapsedtime totaltime completiontime",
            "total_energy": "totalenergy energy energyconsumption totalenergyconsumption energyconsumed",
            "dynamic_energy": "datatransferenergy dynamicenergy transferenergy",
            "cores": "numactivecores activecores numcores cores activecorecount cpucores corecount",
            "frequency": "frequency freq cpufrequency cpufreq corefrequency clock",
            "start": "starttime start startedat timestamp begintime starttimestamp datetime",
            "end": "endtime end endedat finishtime finish finished finishedat completedat stoptime stop endtimestamp",
            "date": "date startdate day",
            "time": "time timeofday",
            "source": "source src sourcehost srchost sourceendpoint from sender",
            "destination": "destination dest dst desthost dsthost destinationhost destinationendpoint to receiver",
            "network": "network testbednetwork site",
            "protocol": "protocol proto",
            "version": "version",
            "file_type": "filetype contenttype datatype",
            "set": "timestamps set setid campaign round",
            "status": "status transferstatus jobstatus finalstatus transferresult finalstate transferstate "
            "state result outcome",
            "success": "success succeeded successful issuccess issuccessful ok completed iscompleted",
            "exit_code": "exitcode exitstatus returncode retcode rc",
            "response_code": "code statuscode responsecode replycode ftpcode ftpreply httpcode httpstatus "
            "httpstatuscode httpresponsecode",
            "failure": "error errors errormessage errmsg failure failed failurereason failurecause "
            "numerrors errorcount",
        }.items()
        for synonym in synonyms.split()
    }
)

_RATES = {"bps": "bit/s", "kbps": "kbit/s", "mbps": "Mbit/s", "gbps": "Gbit/s"}
_BYTE_RATES = {"byteps": "B/s", "kbyteps": "kB/s", "mbyteps": "MB/s", "mibyteps": "MiB/s", "gbyteps": "GB/s"}
_SIZES = {"b": "B", "bytes": "B", "kb": "kB", "mb": "MB", "gb": "GB", "kib": "KiB", "mib": "MiB", "gib": "GiB"}
_TIMES = {"s": "s", "sec": "s", "secs": "s", "seconds": "s", "ms": "ms", "msec": "ms", "us": "µs", "min": "min"}
_ENERGIES = {"j": "J", "joules": "J", "kj": "kJ", "wh": "Wh", "mj": "mJ"}
_FREQUENCIES = {"hz": "Hz", "khz": "kHz", "mhz": "MHz", "ghz": "GHz"}

_DECLARED_UNITS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "bandwidth": _RATES,
        "throughput": _RATES | _BYTE_RATES,
        "file_size": _SIZES,
        "total_size": _SIZES,
        "buffer": _SIZES,
        "rtt": _TIMES,
        "duration": _TIMES,
        "frequency": _FREQUENCIES,
        "total_energy": _ENERGIES,
        "dynamic_energy": _ENERGIES,
    }
)

_SETTINGS = ("parallelism", "concurrency", "pipelining")
_PLAIN = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Columns:
    """Places of the known quantities in a row, the header as seen, and the units that it declares."""

    header: tuple[str, ...]
    delimiter: str
    place: Mapping[str, int]
    declared: Mapping[str, str] = field(default_factory=dict)

    def find_title(self, quantity: str) -> str:
        """Return the column's own name, for reports."""
        return self.header[self.place[quantity]] if quantity in self.place else quantity

    @property
    def unread(self) -> list[str]:
        """Titles of the columns that hold no known quantity, or one that an earlier column holds."""
        read = set(self.place.values())
        return [title for index, title in enumerate(self.header) if index not in read and title]

    def split_fields(self, line: str) -> list[str]:
        """Return the fields of a row, as many as the header has; empty ones behind them are dropped.

        Raises
        ------
        InvalidValue : the line is no CSV row, or has another number of fields.
        """
        row, width = self.split(line), len(self.header)
        if len(row) != width and (len(row) < width or any(field.strip() for field in row[width:])):
            raise InvalidValue("row", f"has {format_count(len(row), 'field')} where the header has {width}")
        return row[:width]

    def split(self, line: str) -> list[str]:
        """Split a line into fields. One line is one row: a stray quote must not swallow the rows after it.

        Raises
        ------
        InvalidValue : the line is no CSV row.
        """
        if '"' not in line:
            return line.split(self.delimiter)
        try:
            return next(csv.reader([line], delimiter=self.delimiter), [])
        except csv.Error as broken:
            raise InvalidValue("row", f"is no CSV row: {broken}") from None


def _find_quantity(title: str) -> tuple[str | None, str | None]:
    """Quantity and declared unit of a header such as ``Throughput (Mbps)``, ``rate MB/s`` or ``duration_ms``."""
    bytes_spelled = re.sub(r"B(?=/s|ps)", "byte", title)
    plain = _PLAIN.sub("", bytes_spelled.lower().replace("bits", "bit").replace("/s", "ps").replace("bitps", "bps"))
    if plain in SYNONYMS:
        return SYNONYMS[plain], None
    for cut in range(len(plain) - 1, 0, -1):
        quantity = SYNONYMS.get(plain[:cut])
        if quantity is not None and plain[cut:] in _DECLARED_UNITS.get(quantity, {}):
            return quantity, _DECLARED_UNITS[quantity][plain[cut:]]
    return None, None


def read_header(line: str) -> Columns:
    """Read the columns of a header line, by the delimiter under which most of them are known."""
    return max((_build_columns(line, delimiter) for delimiter in DELIMITERS), key=lambda columns: len(columns.place))


def _build_columns(line: str, delimiter: str) -> Columns:
    try:
        header = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        header = []
    while header and not header[-1].strip():
        header.pop()  # each row of such a file ends with a delimiter
    place: dict[str, int] = {}
    declared: dict[str, str] = {}
    for index, title in enumerate(header):
        quantity, unit = _find_quantity(title)
        if quantity is not None and quantity not in place:
            place[quantity] = index
            if unit is not None:
                declared[quantity] = unit
    if "start" in place and "end" in place and "duration" not in place:
        declared["duration"] = "s"  # from one to the other
    else:
        place.pop("end", None)
    return Columns(tuple(title.strip() for title in header), delimiter, place, declared)


def list_missing(columns: Columns) -> list[str]:
    """List in words what a log of transfers needs and these columns lack."""
    known = columns.place.keys()
    needs: Sequence[tuple[str, bool]] = (
        ("throughput, duration, or start and end", bool({"throughput", "duration", "end"} & known)),
        ("file size or total size", bool({"file_size", "total_size"} & known)),
        ("one of parallelism, concurrency and pipelining", any(setting in known for setting in _SETTINGS)),
    )
    return [need for need, met in needs if not met]


def require_transfers(columns: Columns) -> None:
    """Refuse a CSV file that is no log of transfers.

    Raises
    ------
    InvalidValue : names the columns seen and what is missing.
    """
    missing = list_missing(columns)
    if missing:
        seen = ", ".join(title[:40] or "(no name)" for title in columns.header[:40])
        if columns.header and columns.header[0].lstrip().startswith(("{", "[")):  # what it holds is nobody's business
            raise InvalidValue("csv", "is JSON, not CSV; leave --format out, or name another")
        raise InvalidValue("csv", f"is of no known family: columns are {seen}; missing: {'; '.join(missing)}")
