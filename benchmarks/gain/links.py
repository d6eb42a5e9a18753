"""Links of real logs, read by the importers and divided into leaves as a refresh divides them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tradewind.errors import InvalidValue
from tradewind.learning.link import build_observations, find_leaves
from tradewind.learning.link_log import EndpointCurves, LinkLog, reduce_log
from tradewind.learning.load.known_load import LoadTimeline
from tradewind.learning.observations import Floats, Observations
from tradewind.parameters import AXES
from tradewind.transfer import LinkKey, Status, TransferRecord
from tradewind.units import format_count
from tradewind_agent.history.importers.importing import import_file
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow

LOG_SUFFIXES = (".csv", ".ndjson")


@dataclass(frozen=True, slots=True)
class GainLeaf:
    """Data sets of one link that are much the same, with their transfers."""

    name: str
    observations: Observations


def read_leaves(folders: Sequence[Path]) -> Iterator[GainLeaf]:
    """Yield the leaves of every link in the logs below ``folders``; skip other files."""
    for folder in folders:
        for path in sorted(each for each in folder.rglob("*") if each.suffix in LOG_SUFFIXES):
            for (link, group), records in _read_links(path).items():
                name = f"{path.stem}:{group}" if group else path.stem
                yield from _list_leaves(f"{name} {link.source} to {link.destination}", records)


def _read_links(path: Path) -> dict[tuple[LinkKey, str], list[TransferRecord]]:
    context = ImportContext(source="source", destination="destination", repair_sizes=True)
    found: dict[tuple[LinkKey, str], list[TransferRecord]] = {}
    try:
        for item in import_file(path, context=context):
            if isinstance(item, ImportedRow) and _is_learned_from(item.record):
                found.setdefault((item.record.link, item.group), []).append(item.record)
    except InvalidValue as invalid:
        print(f"{path.name}: skipped, {str(invalid)[:80]}")
        return {}
    return found


def _is_learned_from(record: TransferRecord) -> bool:
    return record.outcome.status is Status.SUCCEEDED and record.outcome.throughput_bps > 0 and record.duration_s > 0


def _list_leaves(name: str, records: Sequence[TransferRecord]) -> Iterator[GainLeaf]:
    log = _build_link_log(sorted(records, key=lambda each: each.started_at))
    curve = LoadTimeline.of_transfers(log.start_s, log.end_s, log.moved_bytes)
    for leaf, rows in find_leaves(reduce_log([log], EndpointCurves(curve, curve, curve))):
        files = format_count(round(2**leaf.log2_file_count), "file")
        size = f"{files} of {2**leaf.log2_mean_file_bytes:.3g} bytes, load {leaf.load:.2f}"
        yield GainLeaf(f"{name}, {size}", build_observations(rows))


def _build_link_log(records: Sequence[TransferRecord]) -> LinkLog:
    def read(value: Callable[[TransferRecord], float | None]) -> Floats:
        return np.array([np.nan if (found := value(each)) is None else float(found) for each in records])

    unknown = np.full(len(records), np.nan)
    low = 2**64 - 1
    return LinkLog(
        id_high=np.array([each.id.int >> 64 for each in records], dtype=np.uint64),
        id_low=np.array([each.id.int & low for each in records], dtype=np.uint64),
        start_s=read(lambda each: each.started_at.timestamp()),
        end_s=read(lambda each: each.ended_at.timestamp()),
        received_s=read(lambda each: each.ended_at.timestamp()),
        moved_bytes=read(lambda each: each.outcome.bytes_moved),
        throughput_bps=read(lambda each: each.outcome.throughput_bps),
        bandwidth_bps=read(lambda each: each.path.bandwidth_bps),
        rtt_s=read(lambda each: each.path.rtt_s),
        min_rtt_s=read(lambda each: each.path.min_rtt_s),
        buffer_bytes=read(lambda each: each.path.buffer_bytes),
        retransmitted_bytes=read(lambda each: each.outcome.retransmitted_bytes),
        utilisation=unknown,
        mean_file_bytes=read(lambda each: each.dataset.mean_file_bytes),
        file_count=read(lambda each: each.dataset.file_count),
        settings=np.array([[_read_axis(each, axis) for axis in AXES] for each in records]),
        source_power_w=unknown,
        destination_power_w=unknown,
        source_base_w=unknown,
        destination_base_w=unknown,
    )


def _read_axis(record: TransferRecord, axis: str) -> float:
    value = getattr(record.parameters, axis)
    return float("nan") if value is None else float(value)
