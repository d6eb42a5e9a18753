"""What a path carries at most, or its user permits, is not promised beyond and not searched beyond."""

from dataclasses import replace

import pytest

from tests.unit.tuning.next_ticks import sample, stepped
from tests.unit.tuning.simulated_path import MAX_THROUGHPUT, SimulatedPath, Transfer, chunk_basis, run
from tests.unit.tuning.transfers import BIG
from tradewind.dataset import ChunkKind, SizeBin
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.recommendation import ChunkPlan
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tuning import Basis, prepare_basis

AT_20_MBPS = Path(bandwidth_bps=20e6)
START = Parameters(concurrency=2, parallelism=1, pipelining=8)
EIGHTY_PER_CENT = Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.8)


def opening(sla=MAX_THROUGHPUT, **known) -> Basis:
    bins = (SizeBin(BIG.total_bytes // BIG.file_count, BIG.file_count, BIG.total_bytes),)
    plan = (ChunkPlan(ChunkKind.WHOLE, None, START),)
    tables = {ChunkKind.WHOLE: SimulatedPath().table(BIG.mean_file_bytes)}
    return prepare_basis(sla=sla, plan=plan, tables=tables, bins=bins, **known)


def test_no_table_expects_more_than_the_path_carries_or_its_user_permits():
    path = replace(SimulatedPath().path, bandwidth_bps=30e6)
    for known, max_bps in (({"path": path}, 30e6), ({"path": path, "rate_limit_bps": 10e6}, 10e6)):
        basis = opening(**known)
        (chunk,) = basis.chunks
        assert basis.ceiling_bps == max_bps
        assert chunk.expectation.fastest_bps == pytest.approx(max_bps)


def test_a_share_of_the_most_is_one_of_what_the_path_carries():
    path = replace(SimulatedPath().path, bandwidth_bps=30e6)
    assert opening(EIGHTY_PER_CENT).target > 0.8 * 30e6
    assert opening(EIGHTY_PER_CENT, path=path).target <= 0.8 * 30e6


def searching(**known) -> Transfer:
    return Transfer(Basis(MAX_THROUGHPUT, (chunk_basis(BIG, START),), **known))


@pytest.mark.parametrize("known", [{"path": AT_20_MBPS}, {"rate_limit_bps": 20e6}], ids=["path", "user"])
def test_a_search_adds_no_streams_at_the_ceiling_and_says_so(known):
    unknowing, knowing = searching(), searching(**known)
    for transfer, adds in ((unknowing, True), (knowing, False)):
        _, decision = stepped(transfer, sample(transfer, throughput_bps=20.4e6, rtt_s=0.06))
        assert (decision.streams > transfer.decision.streams) is adds
        assert ("20.4 Mbit/s of 20 Mbit/s at most" in decision.reason) is not adds


def test_below_the_ceiling_a_search_goes_on():
    transfer = searching(path=AT_20_MBPS)
    _, decision = stepped(transfer, sample(transfer, throughput_bps=12e6, rtt_s=0.06))
    assert decision.streams > transfer.decision.streams


def test_a_ceiling_that_is_surpassed_holds_nothing_back():
    mistaken = searching(path=replace(SimulatedPath().path, bandwidth_bps=20e6))
    run(SimulatedPath(), [mistaken], 18)
    assert mistaken.rates[-1] >= 0.85 * SimulatedPath().oracle_bps(BIG.mean_file_bytes)
