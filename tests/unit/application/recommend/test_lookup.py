"""Answers that need look-ups: how often the store is asked, and that every request comes to its end."""

import asyncio
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from services.application.models.learned_model import IndexedModel, StoredLeaf, StoredModel, Tier
from services.application.recommend.lookup import Snapshots, answer_request
from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.recommend.snapshot import Index
from services.application.shared.single_flight import SingleFlight
from tests.link_models import FITTED_AT
from tests.unit.application.recommend.models import LINK, PATH, leaf_model
from tradewind.dataset import DataSet, SizeBin
from tradewind.recommendation import AnswerSource
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.transfer import LinkKey

BINS = (SizeBin(131_072, 300, 30_000_000), SizeBin(2**23, 20, 100_000_000), SizeBin(2**26, 4, 160_000_000))
UNSEEN = TransferRequest(
    link=LINK._replace(destination="elsewhere"),
    dataset=DataSet(file_count=324, total_bytes=290_000_000),
    bins=BINS,
    sla=Sla(kind=SlaKind.MAX_THROUGHPUT),
    path=PATH,
)
ON_ENERGY = replace(UNSEEN, sla=Sla(kind=SlaKind.MIN_ENERGY))


class Tenant:
    """A store of links, each with its model, and a count of what is asked of it."""

    def __init__(self, *, unpowered: int, powered: int, capacity: int) -> None:
        self.index = Index(7, {}, {})
        self.models: dict[UUID, StoredModel] = {}
        self.fetched: list[UUID] = []
        for n in range(unpowered + powered):
            self._add(n, powered=n >= unpowered)
        self.snapshots = Snapshots(lambda _: self.index, self._model, lambda: 0.0, capacity=capacity)

    def _add(self, n: int, *, powered: bool) -> None:
        leaves = tuple(
            StoredLeaf(uuid4(), model, tuple(Tier(uuid4()) for _ in model.partitions))
            for model in (
                leaf_model(300, 100_000, powered=powered),
                leaf_model(20, 5_000_000, powered=powered, tier=1),
                leaf_model(4, 40_000_000, powered=powered, tier=2),
            )
        )
        path = replace(PATH, rtt_s=0.06 * (1 + n / 100))
        made = StoredModel(
            id=uuid4(),
            link_id=uuid4(),
            fitted_at=FITTED_AT,
            path=path,
            rows=100,
            load_median=0.1,
            unknown_bps=None,
            failures=(),
            leaves=leaves,
        )
        self.models[made.id] = made
        key = LinkKey("origin", f"end{n}", None, "tradewind")
        centres = tuple(each.model.leaf for each in leaves)
        self.index.models[key] = IndexedModel(made.id, path, centres, (powered,) * 3, made.link_id)

    def _model(self, _: UUID, model_id: UUID) -> StoredModel:
        self.fetched.append(model_id)
        return self.models[model_id]

    def answers(self, *enquiries: TransferRequest) -> list[PricedRecommendation]:
        """Of requests that come at once, in the order of the enquiries."""
        by_enquiry = dict(self.in_turn(*enquiries))
        return [by_enquiry[n] for n in range(len(enquiries))]

    def in_turn(self, *enquiries: TransferRequest) -> list[tuple[int, PricedRecommendation]]:
        """The same in the order in which they are answered, each with its number."""
        answered: list[tuple[int, PricedRecommendation]] = []

        async def all_at_once() -> None:
            lookups, turns = SingleFlight(), asyncio.Lock()

            async def one(number: int, enquiry: TransferRequest) -> None:
                offer = await answer_request(
                    enquiry,
                    UUID(int=1),
                    snapshots=self.snapshots,
                    lookups=lookups,
                    unknown_path_lock=turns,
                    new_transfer_id=uuid4,
                )
                answered.append((number, offer))

            await asyncio.gather(*(one(number, each) for number, each in enumerate(enquiries)))

        asyncio.run(all_at_once())
        return answered


def test_unknown_path_fetches_all_neighbours_in_one_round():
    tenant = Tenant(unpowered=0, powered=8, capacity=100)
    (offer,) = tenant.answers(UNSEEN)
    assert offer.recommendation.source is AnswerSource.NEIGHBOUR
    assert len(tenant.fetched) == len(set(tenant.fetched)) == 3
    assert tenant.answers(UNSEEN)[0].recommendation.plan == offer.recommendation.plan
    assert len(tenant.fetched) == 3


def test_models_without_power_are_not_fetched_for_an_energy_sla():
    tenant = Tenant(unpowered=12, powered=2, capacity=4)
    (offer,) = tenant.answers(ON_ENERGY)
    assert offer.recommendation.source is AnswerSource.NEIGHBOUR
    assert offer.recommendation.predicted.energy_j is not None
    fetched = [tenant.models[each].leaves[0].model.table.knows_power for each in tenant.fetched]
    assert fetched == [True, True]


def test_many_links_without_power_do_not_delay_an_energy_sla():
    tenant = Tenant(unpowered=12, powered=0, capacity=4)
    (offer,) = tenant.answers(ON_ENERGY)
    assert offer.recommendation.source is AnswerSource.HEURISTIC
    assert tenant.fetched == []


@pytest.mark.parametrize("capacity", [1, 2])
def test_requests_that_evict_each_others_models_all_finish(capacity):
    tenant = Tenant(unpowered=0, powered=8, capacity=capacity)
    far = replace(UNSEEN, path=replace(PATH, rtt_s=0.06 * 1.07))
    offers = tenant.answers(UNSEEN, far, ON_ENERGY, replace(UNSEEN, link=LINK._replace(destination="end0")))
    assert [offer.recommendation.source for offer in offers] == [AnswerSource.NEIGHBOUR] * 3 + [AnswerSource.RELEASE]


def test_burst_on_unknown_paths_lets_other_requests_through():
    tenant = Tenant(unpowered=0, powered=4, capacity=100)
    known = replace(UNSEEN, link=LINK._replace(destination="end0"))
    tenant.answers(UNSEEN, known)
    order = [number for number, _ in tenant.in_turn(*[UNSEEN] * 20, known, known)]
    assert order.index(20) < 2
    assert order.index(21) < 3
    assert [number for number in order if number < 20] == list(range(20))


def test_a_release_serves_once_the_models_of_the_links_in_use_are_there():
    tenant = Tenant(unpowered=0, powered=2, capacity=100)
    seen = replace(UNSEEN, link=LINK._replace(source="origin", destination="end0", network=None, mover="tradewind"))
    assert tenant.answers(seen)[0].recommendation.release == 7
    tenant.index = Index(8, {}, {})
    for n in range(2):
        tenant._add(n, powered=True)
    tenant.fetched.clear()
    tenant.snapshots.renew(UUID(int=1))
    assert tenant.fetched == [tenant.index.models[seen.link].id]
    assert tenant.answers(seen)[0].recommendation.release == 8
    assert len(tenant.fetched) == 1


def test_release_without_links_in_use_is_read_on_the_next_request():
    tenant = Tenant(unpowered=0, powered=1, capacity=100)
    tenant.snapshots.load(UUID(int=1))
    tenant.snapshots.renew(UUID(int=1))
    assert tenant.snapshots.get_fresh(UUID(int=1)) is None
    assert tenant.fetched == []
