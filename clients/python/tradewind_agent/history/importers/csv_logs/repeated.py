"""What many rows of a sweep share: path, settings, data set and ends, read once for each way that they are written."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from tradewind.dataset import DataSet
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, LinkKey, Mover
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.history.importers.csv_logs.endpoints import find_direction, find_endpoint, is_copy_in_place
from tradewind_agent.history.importers.csv_logs.names import find_program
from tradewind_agent.history.importers.csv_logs.units import CsvReading
from tradewind_agent.history.importers.csv_logs.units_inference import RATE_UNITS
from tradewind_agent.history.importers.fields import (
    check_name,
    compute_positive_if_known,
    find_known_name,
    parse_number,
    parse_positive,
    parse_setting,
    read_number_if_known,
    round_within,
)
from tradewind_agent.history.importers.logged_transfer import is_local_copy
from tradewind_agent.history.importers.ports import ImportContext, ImportReport

CONTENT_TYPES: Mapping[str, str] = MappingProxyType({"1": "video", "2": "image", "3": "html"})
"""Numbered file types of the energy logs."""

_REMEMBERED = 4096
"""Distinct texts kept: sweeps repeat a few thousand settings."""

PATH_COLUMNS = ("bandwidth", "rtt", "buffer")
PARAMETER_COLUMNS = ("parallelism", "concurrency", "pipelining", "cores", "frequency", "io_block")
DATA_SET_COLUMNS = ("file_type", "set", "file_size", "total_size", "file_count")
GROUP_COLUMNS = ("file_type", "set")
ENDS_COLUMNS = ("source", "destination", "network", "protocol", "version", "mover")


class Ends(NamedTuple):
    """Who moved the bytes between whom; ``in_place`` if no network was crossed."""

    source: str
    destination: str
    network: str | None
    protocol: str
    mover: Mover
    direction: Direction | None
    in_place: bool

    @property
    def link(self) -> LinkKey:
        return LinkKey(self.source, self.destination, self.network, self.mover.name)


class RepeatedFields:
    """Readers of the fields that repeat; each takes the texts of its columns in order, "" for an absent column."""

    def __init__(self, reading: CsvReading, context: ImportContext, report: ImportReport) -> None:
        self._reading = reading
        self._context = context
        self._report = report
        self._program = find_program(reading.columns.header)
        self.path = lru_cache(_REMEMBERED)(self._read_path)
        self.parameters = lru_cache(_REMEMBERED)(self._build_parameters)
        self.data_set = lru_cache(_REMEMBERED)(self._build_data_set)
        self.group = lru_cache(_REMEMBERED)(self._group)
        self.ends = lru_cache(_REMEMBERED)(self._read_ends)

    def _group(self, texts: tuple[str, ...]) -> str:
        file_type, label = (text.strip() for text in texts)
        return "/".join(part for part in (CONTENT_TYPES.get(file_type, file_type), label) if part)

    def _read_path(self, texts: tuple[str, ...]) -> Path:
        bandwidth, rtt, buffer = texts
        reading = self._reading
        bandwidth_bps = compute_positive_if_known("path.bandwidth_bps", bandwidth, RATE_UNITS[reading.units.bandwidth])
        return Path(
            bandwidth_bps=bandwidth_bps or self._context.bandwidth_bps,
            rtt_s=compute_positive_if_known("path.rtt_s", rtt, reading.seconds_per_rtt) or self._context.rtt_s,
            buffer_bytes=_read_chosen("path.buffer_bytes", buffer, reading.bytes_per_buffer),
        )

    def _build_parameters(self, texts: tuple[str, ...]) -> Parameters:
        parallelism, concurrency, pipelining, cores, frequency, io_block = texts
        io_block_bytes = _read_chosen("parameters.io_block_bytes", io_block, self._reading.bytes_per_io_block)
        return Parameters(
            parallelism=parse_setting("parameters.parallelism", parallelism),
            concurrency=parse_setting("parameters.concurrency", concurrency),
            pipelining=parse_setting("parameters.pipelining", pipelining, lowest=0),
            cores=parse_setting("parameters.cores", cores),
            frequency_hz=compute_positive_if_known(
                "parameters.frequency_hz", frequency, self._reading.hertz_per_frequency
            ),
            io_block_bytes=None
            if io_block_bytes is None
            else round_within("parameters.io_block_bytes", io_block_bytes, 1),
        )

    def _build_data_set(self, texts: tuple[str, ...]) -> DataSet:
        file_type, label, file_size, total_size, file_count = (text.strip() for text in texts)
        a_file = "file_size" in self._reading.columns.place
        field = "dataset.mean_file_bytes" if a_file else "dataset.total_bytes"
        written = file_size if a_file else total_size
        count = self._count_files(file_count)
        size_bytes = self._compute_size_bytes(field, (file_type, label, written))
        total_bytes = size_bytes if self._reading.units.size_is_total else size_bytes * count
        if file_type in CONTENT_TYPES:
            self._report.assume("file types 1, 2 and 3 are video, image and html")
        return DataSet(
            file_count=count,
            total_bytes=round_within(field, total_bytes, 1),
            content_type=find_known_name("dataset.content_type", CONTENT_TYPES.get(file_type, file_type)),
        )

    def _count_files(self, text: str) -> int:
        if "file_count" in self._reading.columns.place:
            return round_within("dataset.file_count", parse_number("dataset.file_count", text), 1)
        self._report.assume("there is no count of files: each row is taken as one file")
        return 1

    def _compute_size_bytes(self, field: str, key: tuple[str, str, str]) -> float:
        size = parse_positive(field, key[2])
        of_set = self._reading.sets.by_key.get(key)
        if of_set is None:
            return size * self._reading.units.bits_per_size / BITS_PER_BYTE
        if of_set.bytes_per_size is None:
            raise InvalidValue(field, of_set.note)
        return of_set.replaced_bytes or size * of_set.bytes_per_size

    def _read_ends(self, texts: tuple[str, ...]) -> Ends:
        source, destination, network, protocol, version, program = texts
        spoken = find_known_name("protocol", protocol)
        mover = self._context.mover or find_known_name("mover.name", program) or self._program
        mover = mover or (spoken and spoken.lower())
        if mover is None:
            mover = "unknown"
            self._report.assume('the program that moved the bytes is recorded as "unknown"; --mover names it')
        return Ends(
            find_endpoint("source", source, self._context.source, self._context.aliases),
            find_endpoint("destination", destination, self._context.destination, self._context.aliases),
            find_known_name("network", network) or self._context.network,
            (spoken or "unknown").lower(),
            Mover(check_name("mover.name", mover), find_known_name("mover.version", version)),
            find_direction(source, destination) if source and destination else None,
            is_local_copy(spoken or "") or is_copy_in_place(self._program, source.strip(), destination.strip()),
        )


def _read_chosen(field: str, text: str, scale: float) -> float | None:
    """Return a size in bytes; ``None`` where the log does not say it, or says 0, the system's own choice."""
    value = read_number_if_known(field, text)
    return value * scale if value else None
