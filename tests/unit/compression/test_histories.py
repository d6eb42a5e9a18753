"""Histories of tenants that change while others read them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID, uuid4

from services.application.advice.compression import FRESH_S, Histories
from tradewind.compression.history import CodecObservation


class Stored:
    """What a database has of every tenant; ``meanwhile`` happens while it is read."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] = lambda: None
        self.now_s = 0.0

    @contextmanager
    def unit(self, _tenant_id: UUID) -> Iterator["Stored"]:
        yield self

    @property
    def compression(self) -> "Stored":
        return self

    def list_all(self) -> Sequence[CodecObservation]:
        self.meanwhile()
        return ()


def test_history_changed_while_read_is_returned_but_not_cached() -> None:
    stored, tenant_id = Stored(), uuid4()
    histories = Histories(stored.unit, lambda: stored.now_s)  # type: ignore[arg-type]
    stored.meanwhile = lambda: histories.forget(tenant_id)
    assert histories.load(tenant_id)[1] == 0
    assert histories.find_cached(tenant_id) is None
    stored.meanwhile = lambda: None
    histories.load(tenant_id)
    assert histories.find_cached(tenant_id) is not None
    stored.meanwhile = lambda: histories.forget(uuid4())
    histories.load(tenant_id)
    assert histories.find_cached(tenant_id) is not None, "what others upload is no change of it"


def test_history_is_cached_until_it_expires_or_changes() -> None:
    stored, tenant_id = Stored(), uuid4()
    histories = Histories(stored.unit, lambda: stored.now_s)  # type: ignore[arg-type]
    histories.load(tenant_id)
    stored.now_s = FRESH_S
    assert histories.find_cached(tenant_id) is not None
    histories.forget(tenant_id)
    assert histories.find_cached(tenant_id) is None
    histories.load(tenant_id)
    stored.now_s += FRESH_S + 1
    assert histories.find_cached(tenant_id) is None


def test_a_history_that_nobody_asks_for_any_more_makes_room() -> None:
    stored, tenants = Stored(), [uuid4() for _ in range(3)]
    histories = Histories(stored.unit, lambda: stored.now_s)  # type: ignore[arg-type]
    for tenant_id in tenants[:2]:
        histories.load(tenant_id)
    stored.now_s = FRESH_S + 1
    histories.load(tenants[2])
    stored.now_s = FRESH_S
    assert [histories.find_cached(each) is not None for each in tenants] == [False, False, True]
