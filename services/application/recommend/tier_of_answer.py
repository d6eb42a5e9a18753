"""The tier that an answer promises in: by which it is named and priced, however its settings were found."""

from collections.abc import Sequence

from services.application.recommend.chunk_choice import Solution
from services.application.recommend.served_model import ServedLeaf
from tradewind.dataset import Chunk, DataSet
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.partitions import PartitionKey, serving

_BOUNDED_ABOVE = frozenset({SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST})


def find_largest_chunk(chunks: Sequence[Chunk]) -> int:
    """Which chunk has the most bytes."""
    if len(chunks) == 1:
        return 0
    sizes = [chunk.dataset.total_bytes for chunk in chunks]
    return sizes.index(max(sizes))


def find_tier(agreed: Sla, leaf: ServedLeaf, solutions: Sequence[Solution], dataset: DataSet) -> Solution | None:
    """The tier of the target on the whole transfer, as the provider sees the cluster of most of its bytes.

    That is at the load that is usual there, without what a user or a cap permits less: these change how a promise is
    kept, not what is promised. A target beyond what can be promised then is in the outermost tier.

    Parameters
    ----------
    agreed : what the whole has to keep.
    leaf : of the cluster.
    solutions : of all chunks, which keep it.

    Returns
    -------
    A solution that names the tier; ``None`` where the cluster has none for this kind, confidence and energy basis.
    """
    if leaf.usual is None and len(solutions) == 1 and solutions[0].tier_id is not None:
        return solutions[0]  # solved beforehand for this very target
    tiers = (leaf.usual or leaf).partitions(PartitionKey.of(agreed))
    if not tiers:
        return None
    found = serving(tiers, agreed, dataset_bytes=dataset.total_bytes)
    return found or tiers[0 if agreed.kind in _BOUNDED_ABOVE else -1]
