"""Which files of a copy are packed on their way and which go as they are, decided before the first byte.

Files are judged by sort, with one question for all of it: the recommendation carries what to expect of the engine at
the setting that it recommends, and of each codec on the connections that packed files go over.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from tradewind.cluster import LOAD_MAX
from tradewind.compression.advice import DEFAULT_LINE_BPS, discount_assumed_rate
from tradewind.path import Path
from tradewind.transfer import Direction
from tradewind.units import BITS_PER_BYTE, format_bytes, format_count
from tradewind.unknown_path.prior import compute_stream_rate_bps
from tradewind.unknown_path.rules import fill_in_assumptions
from tradewind.wire.compression import (
    MAX_SETUP_S,
    AdviceAnswer,
    ExpectedRates,
    FileClassRequest,
    FullRecommendRequest,
    FullRecommendResponse,
    WireSpeeds,
)
from tradewind_agent.compression.advising import advise_on_class_locally, to_wire_samples
from tradewind_agent.compression.cores import FILES_A_CORE, LEAST_AT_ONCE, count_usable_cores
from tradewind_agent.compression.file_classes import ClassProbe, FileClass, classify_files, probe_classes
from tradewind_agent.compression.planning import FileAdvice
from tradewind_agent.compression.trials import try_worthwhile_settings
from tradewind_agent.compression.wire_names import PACKED_AT_ONCE
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import PreparedCopy, prepare_listed
from tradewind_agent.engine.jobs import Job
from tradewind_agent.session.planning import GIVEN, HEURISTIC

if TYPE_CHECKING:
    from tradewind.compression.history import History
    from tradewind.wire.recommendations import RecommendRequest, RecommendResponse
    from tradewind_agent.service.client import Client

ROUND_TRIPS: Mapping[Direction, int] = {Direction.UPLOAD: 2, Direction.DOWNLOAD: 1}
"""Round trips of each packed file: the query whether it is there, and the file itself. Each connection costs one
more; they are kept, and one is open already."""


UNSEEN_S = 10.0
"""A few files that take less time as they are are not looked at before: each end samples what it packs, on its way.

A look costs a round trip, and time of a processor while nothing moves. An assumption.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingChoice:
    """How a copy is to be done.

    ``prepared`` : all of it, with the recommendation. ``advised`` : of the files that are to be packed.
    ``at_once``, ``most_at_once`` : packed files at once, as planned and at most, however the plan changes on the way.
    ``line_bps`` : what their connections are expected to carry together.
    """

    prepared: PreparedCopy
    advised: Mapping[Job, FileAdvice]
    looked: Sequence[ClassProbe]
    at_once: int
    most_at_once: int
    line_bps: float | None
    notes: tuple[str, ...]


def choose_packing(
    listing: Listing,
    options: CopyOptions,
    client: "Client | None",
    *,
    history: "History | None" = None,
) -> PackingChoice:
    """Look at each sort of files, ask once, and deal the files.

    ``history`` : that advice rests on without a service, in place of the packaged measurements.
    """
    if client is None and options.tune and _is_short(listing, options):  # a codec that is fixed is chosen before
        unseen = choose_packing_all(listing, options, client)
        return replace(unseen, line_bps=_compute_line_bps(unseen.prepared, unseen.at_once))
    classes = classify_files(listing)
    probes = probe_classes(classes, listing, options.engine, _compute_stated_bps(options))
    found = zip(classes, probes, strict=True)
    seen = [(files, looked) for files, looked in found if looked is not None]
    sampled = [_add_trials(*each, options, history) for each in seen if each[1].sample is not None]
    adviser = _AdvisingClient(client, listing, sampled)
    prepared = prepare_listed(listing, options=options, client=None if client is None else cast("Client", adviser))
    answers = adviser.answers or _advise_locally(prepared, adviser, history)
    advised: dict[Job, FileAdvice] = {}
    for (files, looked), answer in zip(sampled, answers, strict=True):
        if answer.best.codec is not None:
            advised |= {
                listing.jobs[at]: FileAdvice(answer=answer, sample=looked.sample, codecs=looked.codecs)
                for at in files.positions
            }
    for files, looked in seen:
        if looked.sample is None:
            advised |= {listing.jobs[at]: FileAdvice() for at in files.positions}
    at_once = _compute_files_at_once(prepared, len(advised), options)
    return PackingChoice(
        prepared=_widen(prepared, at_once),
        advised=advised,
        looked=[looked for _, looked in sampled],
        at_once=at_once,
        most_at_once=_compute_max_at_once(len(advised), listing.direction),
        line_bps=_compute_line_bps(prepared, at_once),
        notes=(_describe_choice(listing, advised, _count_rationales(sampled, answers)),),
    )


def _add_trials(
    files: FileClass, looked: ClassProbe, options: CopyOptions, history: "History | None"
) -> tuple[FileClass, ClassProbe]:
    """Add trials of the most promising settings on a local sample; a server has made its own."""
    if looked.sample is None or not looked.sample.blocks:
        return files, looked
    stated_bps = _compute_stated_bps(options)
    line_bps = DEFAULT_LINE_BPS if stated_bps is None else stated_bps
    tried = try_worthwhile_settings(looked.sample, files.total_bytes, line_bps, looked.codecs, history=history)
    return files, replace(looked, tried=tried)


def _is_short(listing: Listing, options: CopyOptions) -> bool:
    """Return whether looking at the files would take longer than knowing more of them can save."""
    line_bps = _compute_stated_bps(options) or DEFAULT_LINE_BPS
    return len(listing.jobs) <= LEAST_AT_ONCE and BITS_PER_BYTE * sum(listing.sizes_bytes) / line_bps < UNSEEN_S


def _compute_stated_bps(options: CopyOptions) -> float | None:
    """Return what the user says that the path has free."""
    return None if options.bandwidth_bps is None else options.bandwidth_bps * (1 - min(options.load or 0.0, LOAD_MAX))


def choose_packing_all(listing: Listing, options: CopyOptions, client: "Client | None") -> PackingChoice:
    """Return all files without a look: by the codec that the user wants, or as each end finds on the way.

    As many are packed at once as the recommendation has streams.
    """
    prepared = prepare_listed(listing, options=options, client=client)
    at_once = _compute_files_at_once(prepared, len(listing.jobs), options)
    return PackingChoice(
        prepared=_widen(prepared, at_once),
        advised=dict.fromkeys(listing.jobs, FileAdvice()),
        looked=(),
        at_once=at_once,
        most_at_once=_compute_max_at_once(len(listing.jobs), listing.direction),
        line_bps=_compute_stated_bps(options),
        notes=(),
    )


def choose_no_packing(listing: Listing, options: CopyOptions, client: "Client | None", note: str) -> PackingChoice:
    """Return no file, with a ``note`` that says why."""
    return PackingChoice(
        prepared=prepare_listed(listing, options=options, client=client),
        advised={},
        looked=(),
        at_once=1,
        most_at_once=1,
        line_bps=None,
        notes=(note,),
    )


class _AdvisingClient:
    """A client that requests advice on classes of files with the recommendation, and stores the advice."""

    def __init__(
        self, client: "Client | None", listing: Listing, sampled: Sequence[tuple[FileClass, ClassProbe]]
    ) -> None:
        self._client, self._direction, self._sampled = client, listing.direction, sampled
        self.answers: tuple[AdviceAnswer, ...] = ()

    def recommend(self, request: "RecommendRequest") -> "RecommendResponse":
        assert self._client is not None
        queries = self.build_class_requests(request.to_path())
        answer: FullRecommendResponse = self._client.compression.recommend(
            FullRecommendRequest(**dict(request), file_classes=queries)
        )
        if len(answer.file_classes) == len(queries):
            self.answers = answer.file_classes
        return answer

    def build_class_requests(self, path: Path) -> tuple[FileClassRequest, ...]:
        return tuple(_make_class_request(files, looked, path, self._direction) for files, looked in self._sampled)


def _make_class_request(files: FileClass, looked: ClassProbe, path: Path, direction: Direction) -> FileClassRequest:
    sample = looked.sample
    assert sample is not None
    at_once = _compute_max_at_once(len(files.positions), direction)
    handshakes = (at_once - 1) / len(files.positions)
    return FileClassRequest(
        file_bytes=sample.file_bytes,
        setup_s=min((ROUND_TRIPS[direction] + handshakes) * (path.rtt_s or 0.0) / at_once, MAX_SETUP_S),
        kind=sample.content.kind,
        entropy_bits_per_byte=sample.content.entropy_bits_per_byte,
        cpu_class=sample.cpu_class,
        probe=WireSpeeds.from_domain(sample.probe),
        samples=to_wire_samples(looked.tried),
        codecs=tuple(sorted(looked.codecs)),
        connections=at_once,
    )


def _compute_capacity_bps(path: Path, connections: int) -> float:
    """Return what so many connections carry at most, by their windows and the loss."""
    return connections * compute_stream_rate_bps(fill_in_assumptions(path))


def _advise_locally(
    prepared: PreparedCopy, adviser: _AdvisingClient, history: "History | None"
) -> Sequence[AdviceAnswer]:
    """Return advice without a service: by the packaged measurements and what the rules expect of the engine."""
    rate_bps = _get_expected_bps(prepared) or DEFAULT_LINE_BPS
    found = []
    for query in adviser.build_class_requests(prepared.path):
        packed_bps = min(_compute_capacity_bps(prepared.path, query.connections), rate_bps)
        found.append(advise_on_class_locally(query, ExpectedRates(rate_bps, packed_bps), history))
    return found


def _get_expected_bps(prepared: PreparedCopy) -> float | None:
    """Return what the recommended setting is expected to reach; the path's rate where nothing is predicted."""
    predicted, bandwidth_bps = prepared.plan.predicted, prepared.path.bandwidth_bps
    if predicted is None:
        return bandwidth_bps
    known = prepared.plan.source != HEURISTIC or bandwidth_bps is not None
    return discount_assumed_rate(predicted.throughput_bps.mean, path_is_known=known)


def _compute_line_bps(prepared: PreparedCopy, connections: int) -> float | None:
    """Return what the connections of packed files are expected to carry together."""
    rate_bps = _get_expected_bps(prepared)
    return None if rate_bps is None else min(_compute_capacity_bps(prepared.path, connections), rate_bps)


def _compute_max_at_once(files: int, direction: Direction) -> int:
    """As many packed files as cores can feed, and as a server packs for one client."""
    most = max(FILES_A_CORE * count_usable_cores(), LEAST_AT_ONCE)
    return max(min(files, most, PACKED_AT_ONCE if direction is Direction.DOWNLOAD else most), 1)


def _compute_files_at_once(prepared: PreparedCopy, files: int, options: CopyOptions) -> int:
    """Return the packed files at once: as many as the recommendation has streams, where cores allow it."""
    preferred = options.by_hand.concurrency or max(prepared.plan.parameters.streams, LEAST_AT_ONCE)
    most = options.limits.concurrency or preferred
    return max(min(preferred, most, _compute_max_at_once(files, prepared.listing.direction)), 1)


def _widen(prepared: PreparedCopy, at_once: int) -> PreparedCopy:
    """Return the copy with a stream for each packed file at once: while one is answered, the next is packed.

    A packed file is one stream, so the streams of a channel carry as many files.
    """
    plan = prepared.plan
    if plan.parameters.streams >= at_once or plan.source == GIVEN:
        return prepared
    last = plan.chunks[-1]
    wide = last._replace(parameters=replace(last.parameters, concurrency=at_once, parallelism=1))
    return replace(prepared, planned=replace(prepared.planned, plan=replace(plan, chunks=(*plan.chunks[:-1], wide))))


def _count_rationales(
    sampled: Sequence[tuple[FileClass, ClassProbe]], answers: Sequence[AdviceAnswer]
) -> Mapping[str, int]:
    """Count the unpacked files by the reason."""
    files: Counter[str] = Counter()
    for (each, _), answer in zip(sampled, answers, strict=True):
        if answer.best.codec is None:
            files[answer.rationale] += len(each.positions)
    return files


def _describe_choice(listing: Listing, advised: Mapping[Job, FileAdvice], why_plain: Mapping[str, int]) -> str:
    """Return what was decided, in a line."""
    sizes = [size for job, size in zip(listing.jobs, listing.sizes_bytes, strict=True) if job in advised]
    packed_bytes, others = sum(sizes), len(listing.jobs) - len(sizes)
    packed = f"{format_count(len(sizes), 'file')} ({format_bytes(packed_bytes)}) packed on their way"
    plain_bytes = sum(listing.sizes_bytes) - packed_bytes
    plain = f"{format_count(others, 'file')} ({format_bytes(plain_bytes)}) as they are"
    whys = [why if len(why_plain) == 1 else f"{why} ({format_count(n, 'file')})" for why, n in why_plain.items()]
    parts = [part for part, count in ((packed, len(sizes)), (plain, others)) if count]
    return "; ".join(parts) + (f": {'; '.join(whys)}" if whys else "")
