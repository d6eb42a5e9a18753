"""The lifecycle of a transfer: who releases its share, and where its ticks go."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from tests.unit.agent.records import record
from tradewind.dataset import DataSet
from tradewind.parameters import Parameters
from tradewind.path import UNKNOWN_PATH
from tradewind.transfer import Direction, Mover, Status
from tradewind_agent.history.spool import Spool
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.records import TransferIdentity
from tradewind_agent.session.transfer_session import TransferSession

TRANSFER = UUID(int=7)
IDENTITY = TransferIdentity(
    transfer_id=TRANSFER,
    source="a",
    destination="b",
    mover=Mover("tradewind"),
    protocol="http",
    direction=Direction.DOWNLOAD,
)


@dataclass
class Answering:
    """A tuning loop whose service has answered the last heartbeat, or not."""

    is_service_answering: bool = True


@dataclass
class ServiceStub:
    """Records the completions that it receives."""

    completions: list[Any] = field(default_factory=list)

    def complete(self, transfer_id: UUID, completion: Any, **_: Any) -> None:
        assert transfer_id == TRANSFER
        self.completions.append(completion)


def open_session(service: ServiceStub, logbook: Logbook | None = None) -> TransferSession:
    session = TransferSession(identity=IDENTITY, client=service, logbook=logbook)  # type: ignore[arg-type]
    session.open_ticks(DataSet.of_sizes([1_000]), Parameters(concurrency=1), UNKNOWN_PATH)
    return session


def test_an_error_while_files_move_releases_the_share_once() -> None:
    service = ServiceStub()

    def run() -> None:
        with open_session(service) as session:
            session.hold_share(Answering())
            raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        run()
    (completion,) = service.completions
    assert (completion.status, completion.records) == (Status.CANCELLED, ())


def test_a_transfer_without_records_releases_its_share_with_its_status() -> None:
    service = ServiceStub()
    with open_session(service) as session:
        session.hold_share(Answering())
        session.status = Status.FAILED
        assert session.abandon() == "is empty"
    assert [completion.status for completion in service.completions] == [Status.FAILED]


def test_a_share_that_no_service_has_granted_is_not_released() -> None:
    service = ServiceStub()
    with open_session(service) as session:
        session.hold_share(Answering(is_service_answering=False))
    with open_session(service):
        pass  # a transfer that is not tuned
    assert not service.completions


def test_records_in_a_logbook_are_stored_instead_of_releasing_the_share_first(tmp_path) -> None:
    service, spool = ServiceStub(), Spool(tmp_path, warn=pytest.fail)
    with open_session(service, Logbook(spool=spool)) as session:
        session.hold_share(Answering())
        assert session.finish((record(1),)) == "spooled until `tradewind login`"
    assert not service.completions
    assert len(spool.list_segments()) == 1
