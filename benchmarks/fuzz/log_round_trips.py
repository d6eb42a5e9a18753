"""Write random transfers as logs of every format, put them into random envelopes, read them, and compare.

A log that is refused, in part or as a whole, is counted; one that is read with another number than was written is a
failure: nobody would see it.
"""

import base64
import bz2
import gzip
import io
import json
import lzma
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from types import MappingProxyType
from zoneinfo import ZoneInfo

from benchmarks.fuzz.csv_writers import write_csv
from benchmarks.fuzz.export_writers import EXPORT_WRITERS
from benchmarks.fuzz.log_writers import LOG_WRITERS, Truth, WrittenLog
from benchmarks.fuzz.tool_writers import TOOL_WRITERS
from tradewind.errors import TradewindError
from tradewind.transfer import Status, TransferRecord
from tradewind_agent.importers import ImportContext, ImportedRow, import_file

FORMATS: Mapping[str, Callable[[Random], WrittenLog]] = MappingProxyType(
    {**LOG_WRITERS, **TOOL_WRITERS, **EXPORT_WRITERS, "csv": write_csv}
)
_MULTI_LINE = frozenset({"csv", "fts table"})
"""Formats whose rows may break lines, which collectors of lines would tear, or that begin with a header."""

_ENDS_IN_NUMBERS = frozenset({"htcondor", "fts table", "rclone logfmt", "gridftp cased"})
"""Formats whose last line may be a number, which is refused without a line end."""

_AT = "2026-03-01T10:00:00"


def _write_docker(lines: Sequence[str]) -> list[str]:
    return [json.dumps({"log": f"{line}\n", "stream": "stderr", "time": f"{_AT}.123456789Z"}) for line in lines]


def _write_journal(lines: Sequence[str]) -> list[str]:
    return [json.dumps({"MESSAGE": line, "_PID": "7", "__REALTIME_TIMESTAMP": "1772359200000000"}) for line in lines]


ENVELOPES: Mapping[str, Callable[[Sequence[str]], Sequence[str]]] = MappingProxyType(
    {
        "none": lambda lines: lines,
        "docker": _write_docker,
        "cri": lambda lines: [f"{_AT}.123456789Z stderr F {line}" for line in lines],
        "journal": _write_journal,
        "syslog": lambda lines: [f"Mar  1 10:00:00 host7 mover[77]: {line}" for line in lines],
        "syslog 5424": lambda lines: [f"<14>1 {_AT}Z host7 mover 77 - - {line}" for line in lines],
        "kubectl": lambda lines: [f"[pod/mover-7/main] {line}" for line in lines],
        "colours": lambda lines: [f"\x1b[1;32m{line}\x1b[0m" for line in lines],
        "quoted": lambda lines: [f"> {line}" for line in lines],
        "docker of cri": lambda lines: _write_docker([f"{_AT}.123456789Z stdout F {line}" for line in lines]),
    }
)
PACKINGS: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType(
    {"none": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
)
ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16")


@dataclass(slots=True)
class Tally:
    """Logs by what became of them, by format; and what was read wrongly, with the log."""

    read: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def examples(self) -> int:
        return self.read.total() + self.refused.total() + len(self.wrong)


def run_round_trips(count: int, seed: int) -> Tally:
    """Write and read ``count`` logs, the formats in turn."""
    tally = Tally()
    for number, name in zip(range(count), _repeat(sorted(FORMATS)), strict=False):
        _run_one(name, Random(f"{seed}/{number}"), f"{name} {seed}/{number}", tally)  # no secret
    return tally


def _repeat(names: Sequence[str]) -> Iterator[str]:
    while True:
        yield from names


def _run_one(name: str, random: Random, label: str, tally: Tally) -> None:
    log = FORMATS[name](random)
    content, described = _wrap(log, name, random)
    zone = ZoneInfo(log.zone) if log.zone else None
    context = ImportContext(
        source="alpha",
        destination="beta",
        timezone=zone,
        date_order=log.date_order,
        written_at=datetime(2027, 1, 1, tzinfo=UTC),
    )
    try:
        items = list(import_file(io.BytesIO(content), context=context))
    except TradewindError:
        tally.refused[name] += 1
        return
    except Exception as failure:  # noqa: BLE001  # any other error is a fault
        tally.wrong.append(f"{label} in {described}: {failure!r}")
        return
    records = [item.record for item in items if isinstance(item, ImportedRow)]
    if (difference := _find_difference(log.records, records, has_refused=len(records) < len(items))) is not None:
        tally.wrong.append(f"{label} in {described}: {difference}; {base64.b64encode(content[:600]).decode()}")
    elif len(records) < len(items):
        tally.refused[name] += 1
    else:
        tally.read[name] += 1


def _wrap(log: WrittenLog, name: str, random: Random) -> tuple[bytes, str]:
    """Return the bytes of a log in an envelope, packed and encoded, and the names of these."""
    envelope = "none" if name in _MULTI_LINE else random.choice(list(ENVELOPES))
    packing, encoding = random.choice(["none", *PACKINGS]), random.choice(ENCODINGS)
    end = random.choice(["\n", "\n", "\r\n"])
    text = end.join(ENVELOPES[envelope](log.lines)) + random.choice([end, end, end if name in _ENDS_IN_NUMBERS else ""])
    return PACKINGS[packing](text.encode(encoding)), f"{envelope}, {encoding}, {packing}, {end!r}"


def _find_difference(truths: Sequence[Truth], records: Sequence[TransferRecord], *, has_refused: bool) -> str | None:
    """Return how records differ from what was written; rows that were refused are missing, and no difference."""
    if len(records) > len(truths) or (len(records) < len(truths) and not has_refused):
        return f"{len(records)} records of {len(truths)}"
    rest = iter(truths)
    for record in records:
        differences = []
        for truth in rest:
            found = _compare(truth, record)
            if found is None:
                break
            differences.append(found)
            if not has_refused:
                return found
        else:
            return differences[0] if differences else "a record too many"
    return None


def _compare(truth: Truth, record: TransferRecord) -> str | None:
    if (record.outcome.status is Status.SUCCEEDED) != truth.succeeded:
        return f"is {record.outcome.status}"
    moved, lasted_s = record.outcome.bytes_moved, record.duration_s
    is_near = abs(moved - truth.moved_bytes) <= truth.tolerance * truth.moved_bytes + 1
    if not is_near and (truth.succeeded or moved):  # a failure may count no bytes
        return f"moved {moved} B, not {truth.moved_bytes}"
    if abs(lasted_s - truth.duration_s) > truth.tolerance * truth.duration_s + 2e-3 and not _is_shifted(truth):
        return f"lasted {lasted_s} s, not {truth.duration_s}"
    if abs((record.started_at - truth.started_at).total_seconds()) > truth.start_tolerance_s:
        return f"started at {record.started_at}, not {truth.started_at}"
    return None


def _is_shifted(truth: Truth) -> bool:
    """Return whether clocks were changed while it ran, so that local times do not say how long it lasted."""
    return truth.start_tolerance_s >= 3600
