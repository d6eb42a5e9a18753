"""Of an unknown path: a plan for little energy is never expected to take more of it than the fastest plan."""

from dataclasses import replace
from uuid import uuid4

from hypothesis import given, settings
from hypothesis import strategies as st

from services.application.recommend.request import TransferRequest
from services.application.recommend.snapshot import Snapshot
from tests.unit.application.recommend.models import leaf_model, snapshot
from tests.unit.application.recommend.requests import recommend
from tradewind.dataset import DataSet, bin_sizes, split_by_bdp
from tradewind.energy.ends import EndPower
from tradewind.energy.measured import Host
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import Path
from tradewind.recommendation import AnswerSource
from tradewind.shared_pipe import compute_end_times_s
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.setting_table import SettingTable
from tradewind.transfer import LinkKey
from tradewind.unknown_path import prior
from tradewind.unknown_path.rules import fill_in_assumptions, plan_cold_start

LITTLE_ENERGY = (SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY, SlaKind.ENERGY_AT_MOST)
PATHS = st.builds(
    Path,
    bandwidth_bps=st.floats(1e5, 1e11),
    rtt_s=st.floats(1e-4, 1.0),
    loss_rate=st.none() | st.floats(1e-7, 0.05),
    buffer_bytes=st.none() | st.floats(1e4, 1e8),
)
SIZES = st.lists(st.integers(1, 2**36), min_size=1, max_size=40)
CAPS = st.builds(Caps, concurrency=st.integers(1, 40), streams=st.integers(1, 40)) | st.just(NO_CAPS)
LOADS = st.none() | st.floats(0, 0.9)


def energy_j(plan, chunks, path, load, *, base_w: float, stream_w: float, byte_j: float) -> float:
    """Energy of a plan by the prior, with power for the time, for open streams and for bytes."""
    known, taken = fill_in_assumptions(path), min(load or 0.0, 0.9)
    rates = [
        prior.predict_throughput_bps(known, chunk.dataset, each.parameters, taken)
        for chunk, each in zip(chunks, plan, strict=True)
    ]
    sizes = [chunk.dataset.total_bytes for chunk in chunks]
    ends_s = compute_end_times_s(sizes, rates, known.bandwidth_bps * (1 - taken))
    streams_j = stream_w * sum(each.parameters.streams * end_s for each, end_s in zip(plan, ends_s, strict=True))
    return base_w * max(ends_s) + streams_j + byte_j * sum(sizes)


@settings(max_examples=300)
@given(
    st.sampled_from(LITTLE_ENERGY),
    SIZES,
    PATHS,
    CAPS,
    LOADS,
    st.sampled_from(EnergyBasis),
    st.floats(0.01, 0.2),
    st.floats(0, 1e-7),
)
def test_rules_for_little_energy_take_no_more_than_the_fastest_rule(
    kind, sizes, path, caps, load, basis, stream_power, byte_j
):
    chunks = split_by_bdp(bin_sizes(sizes), path.bdp_bytes, caps.channels)
    target = 1.0 if kind is SlaKind.ENERGY_AT_MOST else None
    base_w = 0.0 if basis is EnergyBasis.DYNAMIC else 50.0

    def spent_j(sla: Sla) -> float:
        plan = plan_cold_start(sla, chunks, path, caps, load).plan
        return energy_j(plan, chunks, path, load, base_w=base_w, stream_w=50 * stream_power, byte_j=byte_j)

    frugal_j = spent_j(Sla(kind=kind, target=target, energy_basis=basis))
    assert frugal_j <= spent_j(Sla(kind=SlaKind.MAX_THROUGHPUT)) * (1 + 1e-6)


@settings(max_examples=200)
@given(st.sampled_from(LITTLE_ENERGY), SIZES, PATHS, CAPS, LOADS)
def test_rules_for_little_energy_take_no_longer_than_the_fastest_rule(kind, sizes, path, caps, load):
    chunks = split_by_bdp(bin_sizes(sizes), path.bdp_bytes, caps.channels)
    target = 1.0 if kind is SlaKind.ENERGY_AT_MOST else None
    frugal, fastest = (
        energy_j(
            plan_cold_start(sla, chunks, path, caps, load).plan, chunks, path, load, base_w=1.0, stream_w=0, byte_j=0
        )
        for sla in (Sla(kind=kind, target=target), Sla(kind=SlaKind.MAX_THROUGHPUT))
    )
    assert frugal <= fastest * (1 + 1e-6)


@settings(max_examples=200)
@given(SIZES, PATHS, CAPS, LOADS, st.floats(0.01, 0.2))
def test_efficiency_is_about_that_of_least_energy_or_better(sizes, path, caps, load, stream_power):
    chunks = split_by_bdp(bin_sizes(sizes), path.bdp_bytes, caps.channels)
    efficient, frugal = (
        energy_j(
            plan_cold_start(Sla(kind=kind), chunks, path, caps, load).plan,
            chunks, path, load, base_w=1.0, stream_w=stream_power, byte_j=0,
        )
        for kind in (SlaKind.ENERGY_EFFICIENCY, SlaKind.MIN_ENERGY)
    )  # fmt: skip
    assert efficient <= frugal * (1 + 1e-6)


def test_a_rule_that_is_not_followed_is_named_with_its_reason():
    path = Path(bandwidth_bps=1e9, rtt_s=0.2, loss_rate=1e-4)
    chunks = split_by_bdp(bin_sizes([4_000_000] * 500), path.bdp_bytes)
    rationale = plan_cold_start(Sla(kind=SlaKind.MIN_ENERGY), chunks, path).rationale
    assert "MaxThr" in rationale
    assert "MinE is expected to take more energy" in rationale


# Neighbours

OTHER = LinkKey("elsewhere", "laptop", None, "tradewind")


def lending(*, powered_second: bool) -> Snapshot:
    return snapshot(leaf_model(300, 100_000), leaf_model(4, 40_000_000, tier=1, powered=powered_second), key=OTHER)


def unseen(kind: SlaKind, sizes, path: Path, caps: Caps, load: float | None, basis: EnergyBasis) -> TransferRequest:
    bins = bin_sizes(sizes)
    return TransferRequest(
        link=LinkKey("origin", "laptop", None, "tradewind"),
        dataset=DataSet(file_count=len(sizes), total_bytes=sum(sizes)),
        bins=bins,
        sla=Sla(kind=kind, energy_basis=basis),
        path=path,
        caps=caps,
        load=load,
    )


@settings(max_examples=150)
@given(
    st.sampled_from((SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY)),
    st.lists(st.sampled_from((5_000, 100_000, 2_000_000, 40_000_000)), min_size=1, max_size=30),
    st.builds(Path, bandwidth_bps=st.floats(3e7, 4e8), rtt_s=st.floats(0.02, 0.15)),
    CAPS,
    LOADS,
    st.sampled_from(EnergyBasis),
    st.booleans(),
)
def test_neighbours_predict_no_more_energy_of_the_frugal_plan_than_of_the_fastest(
    kind, sizes, path, caps, load, basis, powered_second
):
    learned = lending(powered_second=powered_second)
    frugal, fastest = (
        recommend(unseen(each, sizes, path, caps, load, basis), learned, new_transfer_id=uuid4).recommendation
        for each in (kind, SlaKind.MAX_THROUGHPUT)
    )
    if AnswerSource.NEIGHBOUR is frugal.source is fastest.source and fastest.predicted.energy_j is not None:
        assert frugal.predicted.energy_j.mean <= fastest.predicted.energy_j.mean * (1 + 1e-9)


def test_setting_that_only_a_neighbour_metered_at_other_ends_tried_is_left_out_of_an_energy_budget():
    near = leaf_model(300, 100_000)
    few = tuple(replace(each, certified=(each.parameters.concurrency or 1) <= 2) for each in near.table.settings)
    near = replace(
        near,
        table=SettingTable(few, near.table.base_power_w),
        power_by_end={Host.SOURCE: EndPower(20.0), Host.DESTINATION: EndPower(15.0)},
    )
    far = replace(leaf_model(300, 400_000, tier=1), power_by_end={Host.SOURCE: EndPower(20.0)})
    asked = unseen(
        SlaKind.MIN_ENERGY, [100_000] * 300, Path(bandwidth_bps=8e7, rtt_s=0.06), NO_CAPS, None, EnergyBasis.TOTAL
    )
    made = recommend(asked, snapshot(near, far, key=OTHER), new_transfer_id=uuid4).recommendation
    assert made.source is AnswerSource.NEIGHBOUR
    assert made.predicted.energy_j is not None
    assert all((each.parameters.concurrency or 1) <= 2 for each in made.plan)
