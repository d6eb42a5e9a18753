"""Classes of similar files, and a probe of one file of each: what packing makes of it, at which end."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from random import SystemRandom

from tradewind.compression.codecs import Codec, CodecSetting, list_candidate_settings
from tradewind.compression.content import find_size_bin
from tradewind.compression.model import Speeds
from tradewind.errors import InvalidValue
from tradewind.units import KIB
from tradewind_agent.compression.codecs import list_available_codecs, list_common_codecs
from tradewind_agent.compression.packed.decoding import encodes_on_the_fly, find_coding
from tradewind_agent.compression.planning import parse_speeds
from tradewind_agent.compression.sampling import FileSample, sample_file
from tradewind_agent.compression.wire_names import (
    CODECS_HEADER,
    LINE_HEADER,
    PACKED_CODING,
    SAMPLE_HEADER,
    TRIED_HEADER,
    WEB_CODINGS,
)
from tradewind_agent.copy.listing import Listing
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.jobs import DownloadJob, Job, UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import AgentError

MOST_CLASSES = 8
"""Largest number of classes that are probed; files of smaller classes are sent unpacked."""

LOCAL_SAMPLES_PER_CLASS = 3
"""Local files of a class that are sampled; the median one stands for all."""

MOST_DESCRIPTION_BYTES = 64 * KIB
"""Longest description of a receiver that is read."""

_PROBES_AT_ONCE = 4
_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class FileClass:
    """Files of one ending and one order of size; ``positions`` in their listing."""

    ending: str
    positions: tuple[int, ...]
    total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassProbe:
    """What is known of a sort of files.

    ``sample`` : of one of them, by the end that would pack; ``None`` of a web server that packs by itself.
    ``codecs`` : of both ends. ``tried`` : what settings made of the sample.
    """

    sample: FileSample | None
    codecs: frozenset[Codec] = frozenset()
    tried: Mapping[CodecSetting, Speeds] = field(default_factory=dict)


def classify_files(listing: Listing) -> Sequence[FileClass]:
    """Return the largest sorts of files, the largest first; empty files belong to none."""
    found: dict[tuple[str, int], list[int]] = {}
    for position, (job, size) in enumerate(zip(listing.jobs, listing.sizes_bytes, strict=True)):
        if size:
            found.setdefault((_get_suffix(job), find_size_bin(size)), []).append(position)
    classes = [
        FileClass(
            ending=ending,
            positions=tuple(positions),
            total_bytes=sum(listing.sizes_bytes[position] for position in positions),
        )
        for (ending, _), positions in found.items()
    ]
    return sorted(classes, key=lambda each: -each.total_bytes)[:MOST_CLASSES]


def _get_suffix(job: Job) -> str:
    name = job.source.name if isinstance(job, UploadJob) else PurePosixPath(job.source.target.partition("?")[0]).name
    return PurePosixPath(name).suffix.lower()


def probe_classes(
    classes: Sequence[FileClass], listing: Listing, options: EngineOptions, line_bps: float | None = None
) -> Sequence[ClassProbe | None]:
    """Probe each class in turn; ``None`` where its files cannot be packed or probed.

    Of what is wrong the transfer itself will tell. ``line_bps`` : that the path has free, where that is known.
    """
    first = listing.jobs[0]
    if isinstance(first, UploadJob):
        return asyncio.run(_probe_here(classes, listing, first.destination, options, line_bps))
    return asyncio.run(_probe_at_server(classes, listing, options, line_bps))


async def _probe_here(
    classes: Sequence[FileClass], listing: Listing, destination: Url, options: EngineOptions, line_bps: float | None
) -> Sequence[ClassProbe | None]:
    """Sample local files while the receiver answers which codecs it has."""
    requesting = asyncio.create_task(_request_codecs(destination, options))
    samples = await asyncio.to_thread(lambda: [_sample_class(each, listing, line_bps) for each in classes])
    codecs = await requesting
    return [ClassProbe(sample=sample, codecs=codecs) if sample and codecs else None for sample in samples]


async def _request_codecs(destination: Url, options: EngineOptions) -> frozenset[Codec]:
    """Return the codecs that this host shares with a receiver of packed uploads; none where it is no such."""
    try:
        head = (await fetch(destination, options, {}, method="OPTIONS", most_bytes=MOST_DESCRIPTION_BYTES)).head
    except AgentError:
        return frozenset()
    is_from_receiver = head.headers.get("server", "").startswith("tradewind")
    return list_common_codecs(head.headers.get(CODECS_HEADER.lower(), "")) if is_from_receiver else frozenset()


def _sample_class(files: FileClass, listing: Listing, line_bps: float | None) -> FileSample | None:
    """Return a few files that are here, drawn by lot: the one that packs as well as half of them."""
    lot = SystemRandom().sample(files.positions, min(len(files.positions), LOCAL_SAMPLES_PER_CLASS))
    samples = []
    for position in lot:
        job = listing.jobs[position]
        assert isinstance(job, UploadJob)
        try:
            samples.append(sample_file(job.source, line_bps))
        except OSError:
            continue
    samples = sorted((each for each in samples if each.file_bytes), key=lambda each: each.probe.ratio)
    return samples[len(samples) // 2] if samples else None


async def _probe_at_server(
    classes: Sequence[FileClass], listing: Listing, options: EngineOptions, line_bps: float | None
) -> Sequence[ClassProbe | None]:
    """Probe one file of each class, a few at once."""
    slots = asyncio.Semaphore(_PROBES_AT_ONCE)

    async def probe(files: FileClass) -> ClassProbe | None:
        async with slots:
            try:
                return await _probe_file_at_server(files, listing, options, line_bps)
            except AgentError:
                return None

    return await asyncio.gather(*(probe(each) for each in classes))


async def _probe_file_at_server(
    files: FileClass, listing: Listing, options: EngineOptions, line_bps: float | None
) -> ClassProbe | None:
    """Request a sample of one file of a server, and trials of the most promising settings."""
    position = SystemRandom().choice(files.positions)
    job, size_bytes = listing.jobs[position], listing.sizes_bytes[position]
    assert isinstance(job, DownloadJob)
    fields = {
        "Accept-Encoding": ", ".join((PACKED_CODING, *WEB_CODINGS)),
        CODECS_HEADER: ",".join(sorted(list_available_codecs())),
    }
    if line_bps is not None:
        fields[LINE_HEADER] = f"{line_bps:.6g}"
    head = (await fetch(job.source, options, fields, method="HEAD")).head
    if head.status != _OK:
        return None
    if find_coding(head) in WEB_CODINGS:
        return ClassProbe(sample=None) if await encodes_on_the_fly(job.source, options) else None
    return parse_server_sample(head.headers, size_bytes)


def parse_server_sample(fields: Mapping[str, str], size_bytes: int) -> ClassProbe | None:
    """Return what a server says of a sample, as far as it makes sense."""
    text = fields.get(SAMPLE_HEADER.lower())
    sample = None if text is None else FileSample.parse(text, size_bytes)
    codecs = list_common_codecs(fields.get(CODECS_HEADER.lower(), ""))
    if sample is None or not codecs:
        return None
    try:
        speeds = parse_speeds(fields.get(TRIED_HEADER.lower(), ""))
    except InvalidValue:
        speeds = {}
    weighed = list_candidate_settings(codecs)
    tried = {setting: its for setting, its in speeds.items() if its.is_possible and setting in weighed}
    return ClassProbe(sample=sample, codecs=codecs, tried=tried)
