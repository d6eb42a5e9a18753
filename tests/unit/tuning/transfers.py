"""Transfers on the simulated path: with its table and the plan chosen from it, or without and from a given start."""

from tests.unit.tuning.simulated_path import BASE_W, MAX_THROUGHPUT, SimulatedPath, Transfer, chunk_basis
from tradewind.dataset import ChunkKind, DataSet
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.sla.kinds import Sla
from tradewind.tiers.selection import choose_setting
from tradewind.tuning import Basis, ChunkBasis

P = SimulatedPath()
BIG = DataSet(file_count=4000, total_bytes=40 * 10**9)
SMALL_FILES = DataSet(file_count=200_000, total_bytes=20 * 10**9)
GIGABYTE = DataSet(file_count=100, total_bytes=10**9)


def warm(
    dataset: DataSet,
    sla: Sla = MAX_THROUGHPUT,
    *,
    start: Parameters | None = None,
    caps: Caps = NO_CAPS,
    log_sd: float = 0.15,
) -> Transfer:
    """With the path's own table, from its choice or from ``start``; metered."""
    table = P.table(dataset.mean_file_bytes, log_sd)
    if start is None:
        choice = choose_setting(table.predicted, sla, dataset_bytes=dataset.total_bytes)
        assert choice is not None
        start = choice.setting.parameters
    basis = Basis(sla, (chunk_basis(dataset, start, table),), P.path, caps, BASE_W)
    return Transfer(basis, metered=True)


def searching(dataset: DataSet, streams: int, sla: Sla = MAX_THROUGHPUT, caps: Caps = NO_CAPS) -> Transfer:
    """Without a table, from so many channels."""
    start = Parameters(concurrency=streams, parallelism=1, pipelining=8)
    return Transfer(Basis(sla, (chunk_basis(dataset, start),), P.path, caps, BASE_W), metered=True)


def mixed(*, tabled: bool, caps: Caps = NO_CAPS, sla: Sla = MAX_THROUGHPUT) -> Transfer:
    """Small, medium and large files together."""
    sets = {
        ChunkKind.SMALL: (DataSet(file_count=4000, total_bytes=4 * 10**8), (4, 1, 16)),
        ChunkKind.MEDIUM: (DataSet(file_count=60, total_bytes=6 * 10**8), (3, 2, 4)),
        ChunkKind.LARGE: (DataSet(file_count=4, total_bytes=10**9), (2, 4, 1)),
    }
    chunks = tuple(
        ChunkBasis(
            ChunkPlan(
                kind,
                None if kind is ChunkKind.LARGE else 1000,
                Parameters(concurrency=cc, parallelism=p, pipelining=pp),
            ),
            dataset.file_count,
            dataset.total_bytes,
            P.table(dataset.mean_file_bytes) if tabled else None,
        )
        for kind, (dataset, (cc, p, pp)) in sets.items()
    )
    return Transfer(Basis(sla, chunks, P.path, caps, BASE_W), metered=True)
