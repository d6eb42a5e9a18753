"""Small logs in the formats of other programs, written for these tests."""

import io
from collections.abc import Iterable

from tradewind_agent.importers import ImportContext, ImportedRow, ImportReport, RefusedRow, import_file

ENDS = ImportContext(source="alpha", destination="beta")

GRID_HEADER = (
    "FileSize,FileCount,Bandwidth,RTT,BufferSize,Parallelism,Concurrency,Pipelining,Fast,Throughput,Duration,"
    "Date,Time,Source,Destination"
)
ENERGY_HEADER = (
    "Bandwidth,FileCount,AvgFileSize,BufSize,StartTime,CC_Level,P_Level,PP_Level,numActiveCores,frequency,AvgRtt,"
    "TotalAvgTput,TotalEnergy,DataTransferEnergy,TimeStamps,FileType"
)


def grid_row(
    *,
    size: float = 4_000_000,
    count: int = 50,
    bandwidth: str = "10000000000",
    rtt: str = "0.05",
    buffer: str = "16777216",
    p: str = "2",
    cc: str = "4",
    pp: str = "8",
    throughput: float = 800.0,
    duration: str | None = None,
    date: str = "2016-03-14",
    time: str = "10:00:00.5",
    ends: str = "North,South",
    bits_per_unit: float = 1e6,
) -> str:
    """A row of a sweep; the duration follows from the rest unless given."""
    lasted = f"{8 * size * count / (throughput * bits_per_unit):.9f}" if duration is None else duration
    return f"{size:.0f},{count},{bandwidth},{rtt},{buffer},{p},{cc},{pp},0,{throughput},{lasted},{date},{time},{ends}"


def energy_row(
    *,
    start: str,
    size: str = "120.5",
    count: int = 40,
    cc: int = 4,
    throughput: float = 2500.0,
    energy: str | None = None,
    dynamic: str = "25.5",
    label: str = "1",
    file_type: str = "1",
    frequency: str = "1.8",
    size_bytes: float | None = None,
) -> str:
    """A row of an energy sweep; a host of 100 W unless the energy is given."""
    lasted = 8 * (size_bytes or float(size) * 1e6) * count / (throughput * 1e6)
    total = f"{100 * lasted:.3f}" if energy is None else energy
    return f"10,{count},{size},40,{start},{cc},1,4,8,{frequency},30,{throughput},{total},{dynamic},{label},{file_type}"


def clock(row: int) -> str:
    """Starts a minute apart."""
    return f"03-15-2022 {row // 60 % 24:02d}:{row % 60:02d}:07:250"


def run(
    lines: Iterable[str] | bytes,
    context: ImportContext = ENDS,
    *,
    format: str = "auto",  # noqa: A002  # the port's word
    end: str = "\n",
) -> tuple[list[ImportedRow], list[RefusedRow], ImportReport]:
    """Import a log from memory."""
    content = lines if isinstance(lines, bytes) else (end.join(lines) + end).encode()
    importing = import_file(io.BytesIO(content), format=format, context=context)
    items = list(importing)
    imported = [item for item in items if isinstance(item, ImportedRow)]
    refused = [item for item in items if isinstance(item, RefusedRow)]
    return imported, refused, importing.report


def unit_of(report: ImportReport, column: str) -> str:
    return next(found.unit for found in report.units if found.column == column)
