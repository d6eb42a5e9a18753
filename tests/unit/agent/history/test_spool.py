import hashlib

import httpx
import pytest

from tests.unit.agent.records import lines, records
from tests.unit.agent.service.fake_service import answering, problem, receipt
from tradewind.units import MIB
from tradewind.wire.logs import ALREADY_STORED
from tradewind_agent.errors import KeyRefused, ServiceUnreachable, SpoolFailed
from tradewind_agent.history.spool import Spool
from tradewind_agent.service.batches import MAX_BATCH_BYTES
from tradewind_agent.service.retries import NO_RETRIES

SIZE = len(lines(1)[0])


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def spool(tmp_path, warnings):
    return Spool(tmp_path / "state" / "spool", warn=warnings.append)


def contents(spool):
    return [segment.path.read_bytes() for segment in spool.list_segments()]


def test_an_append_is_one_sealed_segment_for_the_user_alone(spool):
    (segment,) = spool.append(records(3))
    assert contents(spool) == [b"".join(lines(3))]
    assert segment.sha256 == hashlib.sha256(b"".join(lines(3))).hexdigest()
    assert spool.folder.stat().st_mode & 0o777 == 0o700
    assert segment.path.stat().st_mode & 0o777 == 0o600


def test_segments_are_uploaded_in_order_under_their_hash_and_removed(spool):
    for first in (1, 4, 7):
        spool.append(records(3, first))
    hashes = [segment.sha256 for segment in spool.list_segments()]
    service = answering(receipt(accepted=3))
    with service.client() as client:
        drained = spool.drain(client)
    assert service.keys == hashes
    assert service.bodies == [b"".join(lines(3, first)) for first in (1, 4, 7)]
    assert drained.accepted == 9
    assert spool.list_segments() == ()


def test_unacknowledged_records_are_sent_again_under_the_same_key(spool):
    spool.append(records(1))
    spool.append(records(1, 2))
    service = answering(receipt(), httpx.ReadTimeout("slow"))
    with service.client(NO_RETRIES) as client, pytest.raises(ServiceUnreachable):
        spool.drain(client)
    assert contents(spool) == lines(1, 2)
    again = answering(receipt())
    with again.client() as client:
        spool.drain(client)
    assert again.keys == service.keys[1:]


def test_the_same_records_spooled_twice_are_stored_once(spool):
    assert spool.append(records(2)) == spool.append(records(2))
    assert len(spool.list_segments()) == 1


def test_a_draft_left_by_a_killed_process_is_no_segment_and_goes_away(spool):
    spool.append(records(1))
    draft = spool.folder / ".000000000002-abc.ndjson.999"
    draft.write_bytes(b"half a li")
    assert contents(spool) == lines(1)
    spool.append(records(1, 2))
    assert not draft.exists()


def test_full_spool_drops_its_oldest_segments_and_warns(tmp_path, warnings):
    spool = Spool(tmp_path / "spool", warn=warnings.append, max_bytes=3 * SIZE)
    for number in range(1, 6):
        spool.append(records(1, number))
    assert contents(spool) == lines(3, 3)
    assert len(warnings) == 2
    assert "given up" in warnings[0]
    assert "\n" not in warnings[0]
    state = spool.read_state()
    assert (state.lost_segments, state.lost_bytes, state.bytes) == (2, 2 * SIZE, 3 * SIZE)


def test_one_segment_above_the_bound_is_refused_and_the_others_stay(tmp_path, warnings):
    spool = Spool(tmp_path / "spool", warn=warnings.append, max_bytes=3 * SIZE)
    spool.append(records(1))
    with pytest.raises(SpoolFailed, match="bound"):
        spool.append(records(4, 2))
    assert contents(spool) == lines(1)


@pytest.mark.parametrize("status", [409, 413, 422])
def test_records_refused_for_good_are_set_aside_and_the_rest_is_sent(spool, status):
    spool.append(records(1))
    spool.append(records(1, 2))
    service = answering(problem(status, detail="nothing valid"), receipt())
    with service.client() as client:
        drained = spool.drain(client)
    assert drained.accepted == 1
    assert len(drained.refused) == 1
    assert "nothing valid" in drained.refused[0]
    assert spool.list_segments() == ()
    assert spool.read_state().refused_segments == 1


def test_records_that_the_service_has_are_not_set_aside(spool):
    spool.append(records(1))
    known = {"row": 1, "field": "id", "reason": ALREADY_STORED}
    service = answering(receipt(accepted=0, rejected=1, rejections=[known]))
    with service.client() as client:
        assert spool.drain(client).refused == ()
    assert spool.list_segments() == ()
    assert spool.read_state().refused_segments == 0


def test_a_refused_key_leaves_everything_where_it_is(spool):
    spool.append(records(1))
    service = answering(problem(401))
    with service.client() as client, pytest.raises(KeyRefused):
        spool.drain(client)
    assert contents(spool) == lines(1)


def test_a_segment_damaged_on_disk_is_set_aside_unsent(spool):
    (segment,) = spool.append(records(1))
    segment.path.write_bytes(b"{}\n")
    service = answering(receipt())
    with service.client() as client:
        assert "damaged" in spool.drain(client).refused[0]
    assert service.requests == []


def test_uploads_stop_between_segments_on_request(spool):
    for number in range(1, 4):
        spool.append(records(1, number))
    service = answering(receipt())
    with service.client() as client:
        spool.drain(client, keep_going=lambda: len(service.requests) < 2)
    assert len(spool.list_segments()) == 1


def test_only_one_process_uploads_at_a_time(spool):
    spool.append(records(1))
    other = Spool(spool.folder, warn=lambda _: None)
    service = answering(receipt())

    class Rival:
        def upload_batch(self, batch, *, idempotency_key=None):
            assert other.drain(self).busy
            with service.client() as client:
                return client.upload_batch(batch, idempotency_key=idempotency_key)

    assert spool.drain(Rival()).accepted == 1


def test_a_spool_that_was_never_used_is_empty(spool):
    service = answering(receipt())
    with service.client() as client:
        assert spool.drain(client).receipts == ()
    assert spool.read_state().segments == 0
    assert not spool.folder.exists()


def test_many_records_make_several_segments_of_bounded_size(spool):
    rows = [bytes([65 + number]) * MIB for number in range(20)]
    spool.append(iter(rows))
    assert b"".join(contents(spool)) == b"".join(row + b"\n" for row in rows)
    assert [segment.bytes <= MAX_BATCH_BYTES for segment in spool.list_segments()] == [True, True]


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    spool = Spool(tmp_path / "file" / "spool", warn=lambda _: None)
    with pytest.raises(SpoolFailed, match="cannot be spooled"):
        spool.append(records(1))
