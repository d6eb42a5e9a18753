"""The basis that a transfer is tuned on, from a recommendation: the same for the service and an agent on its own."""

from collections.abc import Collection, Mapping, Sequence

from tradewind.dataset import ChunkKind, SizeBin
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.recommendation import ChunkPlan, CompactTable
from tradewind.sla.kinds import Sla
from tradewind.tuning.basis import Basis, ChunkBasis


def prepare_basis(
    *,
    sla: Sla,
    plan: Sequence[ChunkPlan],
    tables: Mapping[ChunkKind, CompactTable],
    bins: Sequence[SizeBin],
    path: Path = UNKNOWN_PATH,
    caps: Caps = NO_CAPS,
    rate_limit_bps: float | None = None,
    adjustable: Collection[str] = (),
) -> Basis:
    """Return the basis of a transfer of the files in ``bins`` that starts with ``plan``.

    A bin belongs to the first chunk whose upper end holds its mean file size, the last chunk has none. Chunks of the
    plan without any file are left out. No table expects more than the path carries or the user permits.
    """
    counts, totals = [0] * len(plan), [0] * len(plan)
    for size_bin in bins:
        mean = size_bin.total_bytes / max(size_bin.file_count, 1)
        place = next(i for i, chunk in enumerate(plan) if chunk.max_file_bytes is None or mean <= chunk.max_file_bytes)
        counts[place] += size_bin.file_count
        totals[place] += size_bin.total_bytes
    ceiling_bps = path.limit_bandwidth(rate_limit_bps).bandwidth_bps
    if ceiling_bps is not None:
        tables = {kind: table.limit_throughputs(ceiling_bps) for kind, table in tables.items()}
    chunks = tuple(
        ChunkBasis(chunk, count, total, tables.get(chunk.chunk))
        for chunk, count, total in zip(plan, counts, totals, strict=True)
        if count
    )
    return Basis(
        sla=sla,
        chunks=chunks,
        path=path,
        caps=caps,
        rate_limit_bps=rate_limit_bps,
        adjustable=frozenset(adjustable),
    )
