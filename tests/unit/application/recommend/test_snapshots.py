"""Snapshots in memory: how long they hold, and what makes them be read again."""

from datetime import UTC, datetime
from types import MappingProxyType
from uuid import UUID, uuid4

import pytest

from services.application.models.learned_model import IndexedModel, StoredModel
from services.application.recommend.lookup import RENEW_BEFORE_S, Snapshots
from services.application.recommend.model_cache import NotInMemory
from services.application.recommend.snapshot import Index
from tradewind.errors import Unavailable
from tradewind.path import UNKNOWN_PATH
from tradewind.transfer import LinkKey

TENANT = uuid4()


class Source:
    """A store whose release changes when told, and a clock that is turned by hand."""

    def __init__(self) -> None:
        self.release = 1
        self.reads = 0
        self.now_s = 0.0
        self.away = False
        self.meanwhile = lambda: None
        self.models: dict[LinkKey, IndexedModel] = {}
        self.fetched: list[UUID] = []
        self.snapshots = Snapshots(self.index, self._model, lambda: self.now_s)

    def index(self, _: UUID) -> Index:
        self.reads += 1
        if self.away:
            raise Unavailable("the database does not answer now; try again")
        read = Index(self.release, MappingProxyType(dict(self.models)), MappingProxyType({}))
        self.meanwhile()
        return read

    def _model(self, _: UUID, model_id: UUID) -> StoredModel:
        self.fetched.append(model_id)
        return StoredModel(
            id=model_id,
            link_id=model_id,
            fitted_at=datetime.now(UTC),
            path=UNKNOWN_PATH,
            rows=1,
            load_median=0.0,
            unknown_bps=None,
            failures=(),
            leaves=(),
        )

    def current(self) -> int | None:
        return (self.snapshots.get_fresh(TENANT) or self.snapshots.load(TENANT)).release


@pytest.fixture
def source() -> Source:
    return Source()


def test_snapshot_is_read_once_and_cached(source: Source) -> None:
    assert [source.current() for _ in range(3)] == [1, 1, 1]
    assert source.reads == 1


def test_a_release_is_noticed_within_30_s_without_notice(source: Source) -> None:
    source.current()
    source.release = 2
    source.now_s = 29.0
    assert source.current() == 1
    source.now_s = 30.1
    assert source.current() == 2


def test_snapshot_is_due_before_it_expires(source: Source) -> None:
    assert not source.snapshots.is_due(TENANT)
    source.current()
    source.now_s = 30.0 - RENEW_BEFORE_S - 0.1
    assert not source.snapshots.is_due(TENANT)
    source.now_s = 30.0 - RENEW_BEFORE_S
    assert source.snapshots.is_due(TENANT)
    assert source.snapshots.get_fresh(TENANT) is not None
    source.snapshots.load(TENANT)
    assert not source.snapshots.is_due(TENANT)


def test_a_notice_counts_at_once(source: Source) -> None:
    source.current()
    source.release = 2
    source.snapshots.forget(TENANT)
    assert source.current() == 2
    source.release = 3
    source.snapshots.forget_all()
    assert source.current() == 3


def test_index_read_before_a_notice_is_not_stored_after_it(source: Source) -> None:
    def publish() -> None:
        source.release = 2
        source.meanwhile = lambda: None
        source.snapshots.forget(TENANT)

    source.meanwhile = publish
    source.current()
    assert source.current() == 2


def test_previous_snapshot_serves_while_the_store_is_unreachable(source: Source) -> None:
    source.current()
    source.release, source.away = 2, True
    source.now_s = 1000.0
    assert [source.current() for _ in range(2)] == [1, 1]
    assert source.reads == 2
    source.snapshots.forget_all()
    assert source.current() == 1
    source.away = False
    source.snapshots.forget(TENANT)
    assert source.current() == 2


def test_unreachable_store_is_an_error_without_a_previous_snapshot(source: Source) -> None:
    source.away = True
    with pytest.raises(Unavailable):
        source.current()


def test_replaced_models_are_evicted(source: Source) -> None:
    kept, replaced, new = (IndexedModel(uuid4(), UNKNOWN_PATH, (), (), uuid4()) for _ in range(3))
    links = [LinkKey("a", destination, None, "tradewind") for destination in "bc"]
    source.models = dict(zip(links, (kept, replaced), strict=True))
    before = source.snapshots.load(TENANT)
    for each in (kept, replaced):
        source.snapshots.fetch(TENANT, each.id)
    source.release, source.models = 2, dict(zip(links, (kept, new), strict=True))
    source.snapshots.renew(TENANT)
    now = source.snapshots.get_fresh(TENANT)
    assert now is not None
    assert set(now.get_models([kept, new])) == {kept.id, new.id}
    with pytest.raises(NotInMemory):
        before.get_models([replaced])
    assert source.fetched == [kept.id, replaced.id, new.id]


def test_read_started_before_a_release_is_not_stored_after_it(source: Source) -> None:
    link = LinkKey("a", "b", None, "tradewind")
    old, new = (IndexedModel(uuid4(), UNKNOWN_PATH, (), (), uuid4()) for _ in range(2))
    source.models = {link: old}
    source.snapshots.load(TENANT)
    source.snapshots.fetch(TENANT, old.id)

    def publish_and_renew() -> None:
        source.meanwhile = lambda: None
        source.release, source.models = 2, {link: new}
        source.snapshots.renew(TENANT)

    source.meanwhile = publish_and_renew
    source.snapshots.load(TENANT)
    held = source.snapshots.get_fresh(TENANT)
    assert held is not None
    assert held.release == 2
    assert held.get_model(new) is not None
