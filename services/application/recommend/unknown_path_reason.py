"""Why the release in force does not answer an enquiry by itself, in the words of the rationale."""

from collections.abc import Sequence

from services.application.recommend.chunk_choice import needs_power
from services.application.recommend.request import TransferRequest
from services.application.recommend.snapshot import Snapshot
from tradewind.dataset import Chunk


def explain_unknown_path(enquiry: TransferRequest, snapshot: Snapshot, chunks: Sequence[Chunk], load: float) -> str:
    """The case of an enquiry that is answered without history of its own, as one phrase.

    Raises
    ------
    NotInMemory : the link's model has to be fetched first.
    """
    indexed = snapshot.indexed(enquiry.link)
    if indexed is None:
        movers = [link.mover for link in snapshot.models_of_other_movers(enquiry.link)]
        if not movers:
            return "no model of this path yet"
        these = "that mover" if len(movers) == 1 else "one of them"
        return (
            f"no model of this path for mover {enquiry.link.mover} yet; "
            f"there is one for mover {', '.join(movers)}: ask with {these}"
        )
    found = [snapshot.model(indexed).nearest(chunk.dataset, load) for chunk in chunks]
    leaves = [leaf.model for leaf, _ in found]
    if needs_power(enquiry.sla) and not all(leaf.table.knows_power for leaf in leaves):
        return f"the logs of this path have no energy, which {enquiry.sla.kind} needs"
    whole = max(enquiry.dataset.total_bytes, 1)
    for chunk, leaf in zip(chunks, leaves, strict=True):
        caps = enquiry.caps.part(chunk.dataset.total_bytes / whole, len(chunks))
        if not any(caps.allow(setting.parameters) for setting in leaf.table.settings):
            return "the caps are below every setting in the logs of this path"
    octaves = max(away for _, away in found)
    return f"the data set is {octaves:.1f} octaves away from the nearest in the logs of this path"
