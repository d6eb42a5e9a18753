"""What codecs made of a file that was sent or fetched, and of samples, for the service's history."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from tradewind.compression.codecs import PROBE, CodecSetting
from tradewind.compression.model import Speeds
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.compression.packing import OBSERVED_FROM_BYTES
from tradewind_agent.compression.planning import make_case
from tradewind_agent.compression.sampling import BEGINNING_BYTES, FileSample, measure_setting
from tradewind_agent.compression.totals import SHORTEST_S, PackingTotals, SettingTotals
from tradewind_agent.compression.unpacking import Unpacker

if TYPE_CHECKING:
    from tradewind.wire.compression import WireObservation
    from tradewind_agent.compression.file_classes import ClassProbe
    from tradewind_agent.compression.options import PackedOutcome
    from tradewind_agent.engine.jobs import Job

MOST_OBSERVED = 200
OBSERVING_S = 2.0
"""Observations of one copy, and the time that they may take after it. Assumptions."""


def collect_observations(
    observed: "Sequence[tuple[Job, PackedOutcome]]", transfer_id: UUID
) -> "Sequence[WireObservation]":
    """Return what codecs made of files, for the service; some of it is measured now, within `OBSERVING_S`."""
    found: list[WireObservation] = []
    until_s = time.monotonic() + OBSERVING_S
    with suppress(KeyboardInterrupt):  # the files are there, and what was found is true
        for job, outcome in reversed(observed):
            if len(found) >= MOST_OBSERVED or time.monotonic() >= until_s:
                break
            found += _observe_file(job, outcome, transfer_id)
    return found[:MOST_OBSERVED]


def _observe_file(job: "Job", outcome: "PackedOutcome", transfer_id: UUID) -> "Sequence[WireObservation]":
    """Return nothing where a codec fails at what it has done before: the file is there all the same."""
    assert outcome.sample is not None
    with suppress(Exception):  # each library has errors of its own
        return observe_codecs(outcome.work, outcome.sample, transfer_id, str(job), fetched=outcome.fetched)
    return ()


def observe_codecs(
    work: PackingTotals, sample: FileSample, transfer_id: UUID, name: str, *, fetched: bytes = b""
) -> "Sequence[WireObservation]":
    """Return what each setting made of the blocks that it was tried on; none where too little was packed.

    Parameters
    ----------
    sample : taken by the end that packed.
    name : of the file within the transfer, so that the same observation has the same id.
    fetched : the beginning of a file that was fetched, by which this end's speed of unpacking is judged; of a file that
        was sent, parts are unpacked here instead.
    """
    return tuple(_observe_settings(work, sample, transfer_id, name, fetched))


def _observe_settings(
    work: PackingTotals, sample: FileSample, transfer_id: UUID, name: str, fetched: bytes
) -> "Iterator[WireObservation]":
    if fetched:
        unpack_bps = measure_setting((fetched[:BEGINNING_BYTES],), PROBE).decompress_bps
        sample = replace(sample, probe=sample.probe._replace(decompress_bps=unpack_bps))
    for setting, effort in work.efforts.items():
        if effort.plain_bytes < OBSERVED_FROM_BYTES or not effort.pack_s > 0:
            continue
        speeds = Speeds(
            effort.ratio,
            effort.compress_bps * make_case(sample).count_cores(setting),
            effort.decompress_bps if fetched else _measure_unpacking_bps(effort, sample, setting),
        )
        if speeds.is_possible:  # a download's server reports how long it packed, and on how many cores
            yield _to_wire(uuid5(transfer_id, f"{name} {setting}"), sample, setting, speeds)


def _measure_unpacking_bps(effort: SettingTotals, sample: FileSample, setting: CodecSetting) -> float:
    """Return the plain bits a second; of what has not become smaller a sample has to be packed first."""
    block = effort.last
    if block is None:
        return measure_setting(sample.blocks[:1], setting, repeats=1).decompress_bps
    unpacker = Unpacker()
    unpacker.unpack_block(block)
    return BITS_PER_BYTE * block.plain_bytes / max(unpacker.unpack_s, SHORTEST_S)


def _to_wire(identity: UUID, sample: FileSample, setting: CodecSetting, speeds: Speeds) -> "WireObservation":
    from tradewind.wire.compression import WireObservation, WireSpeeds  # noqa: PLC0415 -- packed copies only

    return WireObservation(
        id=identity,
        seen_at=datetime.now(UTC),
        codec=setting.codec,
        level=setting.level,
        file_bytes=sample.file_bytes,
        kind=sample.content.kind,
        cpu_class=sample.cpu_class,
        probe=WireSpeeds.from_domain(sample.probe),
        speeds=WireSpeeds.from_domain(speeds),
    )


def observe_samples(probes: "Sequence[ClassProbe]", transfer_id: UUID) -> "Sequence[WireObservation]":
    """Return what settings made of samples, each as a file of its own size."""
    return tuple(
        _to_wire(uuid5(transfer_id, f"sample {number} {setting}"), sample, setting, speeds)
        for number, each in enumerate(probes)
        if each.sample is not None
        for sample in (replace(each.sample, file_bytes=each.sample.sampled_bytes),)
        for setting, speeds in each.tried.items()
        if speeds.is_possible
    )
