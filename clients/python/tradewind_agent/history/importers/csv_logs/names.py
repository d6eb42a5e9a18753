"""Names of columns and units that logs use: the tables to extend for another tool.

A header is compared without case, blanks and punctuation; a unit may follow the name of a quantity.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from tradewind_agent.history.importers.csv_logs.counts import find_counted
from tradewind_agent.history.importers.instants import find_zone

SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        synonym: quantity
        for quantity, synonyms in {
            "file_size": "filesize avgfilesize averagefilesize meanfilesize avgsize size filesizeavg objectsize "
            "contentlength sourcesize",
            "total_size": "totalsize totalbytes datasetsize datasize bytes transfersize sizetotal bytestotal "
            "expectedbytes bytesexpected expectedsize",
            "moved_size": "nbytes numbytes numberofbytes bytesmoved bytestransferred transferredbytes bytescopied "
            "bytessent bytesreceived movedbytes totalbytestransferred totalnumberofbytestransferred bytesdone "
            "actualbytes bytesactual actualsize",
            "file_count": "filecount filenumbers filenumber numfiles numberoffiles nfiles files count numobjects "
            "objects filestransferred numberoffilestransfers",
            "bandwidth": "bandwidth bw linkbandwidth linkcapacity capacity linkrate linkspeed networkbandwidth",
            "rtt": "rtt avgrtt averagertt meanrtt roundtriptime",
            "buffer": "buffersize bufsize buffer tcpbuffer tcpbuffersize tcpbufsize socketbuffer windowsize",
            "io_block": "blocksize ioblocksize ioblock",
            "parallelism": "parallelism p plevel parallel streams nstreams numstreams parallelstreams parallellevel "
            "numberofstreams tcpstreams numtcpstreams streamsperfile multithreadstreams",
            "concurrency": "concurrency cc cclevel concurrent channels concurrencylevel numchannels concurrentfiles "
            "parallelfiles simultaneousfiles concurrenttransfers paralleltransfers simultaneoustransfers filesatonce",
            "pipelining": "pipelining pp pplevel pipeline pipelinelevel pipelininglevel pipelinedepth pipeliningdepth",
            "throughput": "throughput totalavgtput avgtput tput avgthroughput averagethroughput meanthroughput goodput "
            "totalthroughput transferrate rate speed avgspeed totaltput averagespeed meanspeed bitrate transferspeed",
            "duration": "duration transferduration transfertime elapsed elapsedtime totaltime completiontime "
            "walltime timetaken timeelapsed runtime",
            "total_energy": "totalenergy energy energyconsumption totalenergyconsumption energyconsumed",
            "dynamic_energy": "datatransferenergy dynamicenergy transferenergy",
            "cores": "numactivecores activecores numcores cores activecorecount cpucores corecount",
            "frequency": "frequency freq cpufrequency cpufreq corefrequency clock",
            "start": "starttime start started startedat timestamp begintime starttimestamp datetime begin "
            "requesttime startdatetime startts",
            "end": "endtime end endedat finishtime finish finished finishedat completedat stoptime stop endtimestamp "
            "enddatetime endts finishedtime",
            "date": "date startdate day",
            "end_date": "enddate finishdate stopdate completiondate",
            "time": "time timeofday",
            "source": "source src sourcehost srchost sourcehostname srchostname sourceendpoint sourceendpointname "
            "sourceendpointdisplayname sourcesite srcsite srcrse from sender sourceurl srcurl",
            "destination": "destination dest dst desthost dsthost destinationhost desthostname dsthostname "
            "destinationhostname destinationendpoint destinationendpointname destinationendpointdisplayname "
            "destinationsite destsite dstsite dstrse to receiver destinationurl dsturl",
            "network": "network testbednetwork site",
            "protocol": "protocol proto",
            "version": "version",
            "mover": "appname application tool program mover client utility",
            "operation": "transtype operation ftpcommand verb transferdirection direction",
            "mode": "mode action transfermode runmode",
            "progress": "progress progresspercent percentcomplete percentagecomplete pctcomplete percentdone "
            "completion percentcompleted pctdone donepercent completionpercent percent pct percentage",
            "attempt": "attempt attemptnumber attemptno attemptid retrynumber retryno",
            "file_type": "filetype contenttype datatype",
            "set": "timestamps set setid campaign round",
            "status": "status transferstatus jobstatus finalstatus transferresult finalstate transferstate "
            "state result outcome resultcode errorcode errcode jobstate taskstate taskstatus",
            "success": "success succeeded successful issuccess issuccessful ok completed iscompleted "
            "checksumok checksummatch checksummatches",
            "exit_code": "exitcode exitstatus returncode retcode rc errno exit exitvalue returnvalue",
            "response_code": "code statuscode responsecode replycode ftpcode ftpreply ftpreturncode httpcode "
            "httpstatus httpstatuscode httpresponsecode",
            "failure": "error errors errormessage errmsg failure failed failurereason failurecause "
            "numerrors errorcount",
            "nothing_moved": "dryrun isdryrun simulated simulation serverside serversidecopy skipped",
            "zone": "timezone tz utcoffset timezoneoffset tzoffset gmtoffset "
            + " ".join(
                f"{of}offset{unit}" for of in ("utc", "tz") for unit in ("s", "seconds", "min", "minutes", "h", "hours")
            ),
        }.items()
        for synonym in synonyms.split()
    }
)

_PREFIXES = {
    "": "",
    "k": "k",
    "kilo": "k",
    "m": "M",
    "mega": "M",
    "g": "G",
    "giga": "G",
    "t": "T",
    "tera": "T",
    "p": "P",
    "peta": "P",
}
_BINARY_PREFIXES = {
    "ki": "Ki", "kibi": "Ki", "mi": "Mi", "mebi": "Mi", "gi": "Gi", "gibi": "Gi", "ti": "Ti", "tebi": "Ti", "pi": "Pi",
    "pebi": "Pi",
}  # fmt: skip

_RATES: Mapping[str, str] = MappingProxyType(
    {f"{spelled}bps": f"{prefix}bit/s" for spelled, prefix in (_PREFIXES | _BINARY_PREFIXES).items()}
)
_OCTETS = {spelled: prefix for spelled, prefix in (_PREFIXES | _BINARY_PREFIXES).items() if 0 < len(spelled) < 3}
"""Prefixes that stand before the ``o`` of an octet, as French programs write it."""

_BYTE_RATES: Mapping[str, str] = MappingProxyType(
    {f"{spelled}byteps": f"{prefix}B/s" for spelled, prefix in (_PREFIXES | _BINARY_PREFIXES).items()}
    | {f"{spelled}ops": f"{prefix}B/s" for spelled, prefix in _OCTETS.items()}
)
_SIZES: Mapping[str, str] = MappingProxyType(
    {
        f"{spelled}{byte}": f"{prefix}B"
        for spelled, prefix in (_PREFIXES | _BINARY_PREFIXES).items()
        for byte in ("b", "byte", "bytes")
    }
    | {f"{spelled}o": f"{prefix}B" for spelled, prefix in _OCTETS.items()}
    | {"octets": "B"}
)
_LONG_TIMES: Mapping[str, str] = MappingProxyType(
    {
        "second": "s", "seconds": "s", "secs": "s", "millis": "ms", "milliseconds": "ms", "msec": "ms", "msecs": "ms",
        "microseconds": "µs", "usec": "µs", "nanoseconds": "ns", "minutes": "min", "mins": "min", "hours": "h",
        "hrs": "h",
    }
)  # fmt: skip
_TIMES: Mapping[str, str] = MappingProxyType(
    {
        **_LONG_TIMES,
        "hhmmss": "s",
        "hms": "s",
        "mmss": "min",
        "hhmm": "h",
        "s": "s",
        "sec": "s",
        "ms": "ms",
        "us": "µs",
        "ns": "ns",
        "min": "min",
        "h": "h",
    }
)
_DURATIONS: Mapping[str, str] = MappingProxyType(
    {**_TIMES, "d": "d", "day": "d", "days": "d", "minsec": "min", "hourmin": "h", "hourminsec": "s", "hmmss": "s"}
)
_ENERGIES: Mapping[str, str] = MappingProxyType({"j": "J", "joules": "J", "kj": "kJ", "wh": "Wh", "mj": "mJ"})
_FREQUENCIES: Mapping[str, str] = MappingProxyType({"hz": "Hz", "khz": "kHz", "mhz": "MHz", "ghz": "GHz"})
_ZONES: Mapping[str, str] = MappingProxyType({"utc": "UTC", "gmt": "UTC"})
_INSTANTS: Mapping[str, str] = MappingProxyType({**_ZONES, **_TIMES, "epoch": "s", "epochms": "ms", "unix": "s"})

DECLARED_UNITS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "bandwidth": _RATES,
        "throughput": MappingProxyType({**_RATES, **_BYTE_RATES}),
        "file_size": _SIZES,
        "total_size": _SIZES,
        "moved_size": _SIZES,
        "buffer": _SIZES,
        "io_block": _SIZES,
        "rtt": _TIMES,
        "duration": _DURATIONS,
        "frequency": _FREQUENCIES,
        "total_energy": _ENERGIES,
        "dynamic_energy": _ENERGIES,
        "start": _INSTANTS,
        "end": _INSTANTS,
        "time": _ZONES,
    }
)
"""Units that may follow the name of a quantity, by how they are spelled."""

GENERIC = frozenset({"timestamp", "datetime", "requesttime"})
"""Names of starts that give way to another: a row may also say when it was written, or requested."""

_PLAIN = re.compile(r"[^a-z0-9]+")
_LONGEST_TITLE = 200
_LEVELS = re.compile(r"^\W?(?:(?:_source|fields|data|payload)\.)+")
"""What exports of searches write before the names of members."""

_FAILURE = re.compile(
    r"(?:is|has|was|num|number(?:of)?|total|count(?:of)?)?(?:files?|transfers?|objects?|tasks?|jobs?)?"
    r"(?:failed|failures?|errors?|errored|exceptions?|cancell?ed|aborted|interrupted|timedout)"
    r"(?:files?|transfers?|objects?|count|message|msg|text|reason|type|description|string)?"
)
"""Titles of failures in other words; those of rates, bars and margins of errors are none."""

_IN = re.compile(r"(?<=[A-Za-z])[\s_]+in[\s_]+(?=[A-Za-z])", re.IGNORECASE)
"""The word before a unit, as in ``size in MB``."""
_PREFIX_BEHIND = re.compile(r"(.+?)[\s_(\[]+[KMGTP][)\]]?")
_QUALIFIERS = "effective|avg|average|mean|total|transfer|elapsed|download|upload|"
_UNIT_ALONE: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"throughput": DECLARED_UNITS["throughput"], "duration": _LONG_TIMES}
)
"""Quantities whose unit alone names them, such as ``Mbps`` or ``total seconds``."""


LOCAL = "local"
"""The zone of the clock that nobody names."""

_ZONE_BEHIND = re.compile(
    r"(?P<name>.+?)(?:[\s_]*[(\[](?:in )?|[\s_]+)(?P<zone>(?:UTC|GMT) ?[+-]\d{1,2}(?::?\d\d)?|[+-]\d\d:\d\d"
    r"|[A-Z][A-Za-z]+/[A-Za-z_/]+|[A-Z]{3,4}|[Ll]ocal(?:[ _]time)?)[)\]]?"
)
_SEVERAL_ZONES = frozenset({"CST", "IST", "BST", "AST"})
_ANY_TIME = datetime(2026, 1, 15)  # noqa: DTZ001 -- its zone is what is looked for


def is_zone(name: str | None) -> bool:
    """Return whether a text names a zone, also one of several, or that of the clock."""
    if name is None:
        return False
    return name in _SEVERAL_ZONES or name == LOCAL or find_zone(name.replace(" ", ""), _ANY_TIME, UTC) is not None


def _find_time_with_zone(title: str) -> tuple[str, str] | None:
    """Return the quantity of a time with a zone behind its title, and that zone; ``None`` for other titles."""
    found = _ZONE_BEHIND.fullmatch(title.strip())
    if found is None or (found["name"].isupper() and title.strip()[-1] not in ")]"):
        return None
    quantity = SYNONYMS.get(to_plain(found["name"]))
    zone = LOCAL if found["zone"].lower().startswith(LOCAL) else found["zone"].replace(" ", "")
    is_one = quantity in ("start", "end", "time") and is_zone(zone) and to_plain(zone) not in _ZONES
    return (quantity, zone) if quantity is not None and is_one else None


_DONE = frozenset({"progress", "completion", "complete", "completed", "done", "finished", "transferred", ""})


def find_quantity(title: str) -> tuple[str | None, str | None]:
    """Return quantity and declared unit of a header such as ``Throughput (Mbps)``, ``rate MB/s`` or ``duration_ms``.

    A share in per cent is none of the quantity that its title names, but how much was done.
    """
    if len(title) > _LONGEST_TITLE:  # a message, which the patterns below would take long for
        return None, None
    if "%" in title:
        return ("progress" if to_plain(title) in _DONE else None), None
    return _find_time_with_zone(title) or _find_quantity_with_unit(_IN.sub(" ", _LEVELS.sub("", title)))


def _find_quantity_with_unit(title: str) -> tuple[str | None, str | None]:
    bytes_spelled = re.sub(r"B(?=/s|ps)", "byte", title)
    plain = _PLAIN.sub("", re.sub(r"/s(?:ec(?:ond)?)?\b", "ps", bytes_spelled.lower()))
    plain = re.sub(r"persec(?:ond)?$", "ps", plain).replace("bits", "bit")
    plain = re.sub(r"bytesps$", "byteps", plain).replace("bitps", "bps")
    if plain in SYNONYMS:
        return SYNONYMS[plain], "B" if "bytes" in plain else None
    for cut in range(len(plain) - 1, 0, -1):
        quantity = SYNONYMS.get(plain[:cut])
        if quantity is not None and plain[cut:] in DECLARED_UNITS.get(quantity, {}):
            return quantity, DECLARED_UNITS[quantity][plain[cut:]]
    if (prefixed := _PREFIX_BEHIND.fullmatch(title.strip())) is not None:
        sized = SYNONYMS.get(_PLAIN.sub("", prefixed[1].lower()))
        return (sized, None) if sized in ("file_size", "total_size", "moved_size") else (None, None)
    for quantity, units in _UNIT_ALONE.items():
        alone = re.sub(rf"^(?:{_QUALIFIERS})", "", plain)
        if alone in units:
            return quantity, units[alone]
    return find_counted(title) or ("failure" if _FAILURE.fullmatch(plain) else None), None


def to_plain(title: str) -> str:
    """Return a title without case, blanks and punctuation, as the tables here have it."""
    return _PLAIN.sub("", title.lower())


_IDENTITIES = frozenset(
    {
        "id", "transferid", "taskid", "jobid", "fileid", "requestid", "file", "filename", "object", "objectname",
        "name", "path", "key",
    }
)  # fmt: skip
"""Columns that say which transfer a row is of."""


UNIQUE = frozenset({"id", "transferid", "requestid"})
"""Those of one transfer alone; a job or a file may have several."""


def is_identity(title: str) -> bool:
    """Return whether a column says which transfer a row is of."""
    return _PLAIN.sub("", title.lower()) in _IDENTITIES


_PROGRAMS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "gsutil": frozenset({"uploadid", "sourcesize", "bytestransferred"}),
        "globus": frozenset({"sourceendpointdisplayname", "requesttime", "bytestransferred"}),
    }
)
"""Programs by columns that only their tables have."""


def find_program(titles: Iterable[str]) -> str | None:
    """Return the program whose table has these columns, ``None`` if it may be of any."""
    plain = {_PLAIN.sub("", title.lower()) for title in titles}
    return next((program for program, columns in _PROGRAMS.items() if columns <= plain), None)
