"""Sums that an object store states of what it has stored: other bytes than were sent are no success."""

from base64 import b64encode
from pathlib import Path
from zlib import crc32

import pytest

from tests.integration.engine.servers.stream_server import RequestHead
from tests.integration.stores.object_store import ObjectStore
from tests.integration.stores.test_s3_uploads import CONTENT, PART_BYTES, SMALL, refuse, send, short_parts  # noqa: F401

OTHER = "the store has other bytes than were sent, though it answered 200 OK"


def damage_all(body: bytes, _nth: int) -> bytes:
    return body[:-1]


def damage_first(body: bytes, nth: int) -> bytes:
    return body[:-1] if nth == 1 else body


def encode_crc32(body: bytes) -> str:
    return b64encode(crc32(body).to_bytes(4, "big")).decode()


def state_crc32(body: bytes) -> dict[str, str]:
    return {"x-amz-checksum-crc32": encode_crc32(body), "x-amz-checksum-type": "COMPOSITE"}


@pytest.mark.parametrize("stated", [state_crc32, lambda _: {}], ids=["by its sum", "by its tag"])
def test_object_that_was_damaged_once_is_sent_again(tmp_path: Path, stated):
    store = ObjectStore(damage=damage_first, stated=stated)
    assert send(store, tmp_path / "f", SMALL).failures == ()
    assert store.objects == {"up/file": SMALL}


@pytest.mark.parametrize("stated", [state_crc32, lambda _: {}], ids=["by its sum", "by its tag"])
def test_object_that_is_damaged_each_time_is_a_failure(tmp_path: Path, stated):
    (failure,) = send(ObjectStore(damage=damage_all, stated=stated), tmp_path / "f", SMALL).failures
    assert failure.reason.startswith(OTHER)


@pytest.mark.parametrize("stated", [state_crc32, lambda _: {}], ids=["by its sum", "by its tag"])
def test_damaged_part_is_sent_again(tmp_path: Path, stated):
    store = ObjectStore(damage=damage_first, stated=stated)
    assert send(store, tmp_path / "f").failures == ()
    assert store.objects == {"up/file": CONTENT}


@pytest.mark.parametrize("stated", [state_crc32, lambda _: {}], ids=["by its sum", "by its tag"])
def test_parts_that_are_damaged_each_time_are_a_failure(tmp_path: Path, stated):
    store = ObjectStore(damage=damage_all, stated=stated)
    (failure,) = send(store, tmp_path / "f").failures
    assert failure.reason.startswith(OTHER)
    assert (store.objects, store.uploads) == ({}, {})


@pytest.mark.parametrize("is_right", [True, False])
def test_sum_of_the_joined_parts_is_compared(tmp_path: Path, *, is_right: bool):
    parts = [CONTENT[first : first + PART_BYTES] for first in range(0, len(CONTENT), PART_BYTES)]
    sums = b"".join(crc32(part).to_bytes(4, "big") for part in (parts if is_right else parts[::-1]))
    store = ObjectStore(joined_sum=f"{encode_crc32(sums)}-{len(parts)}")
    reasons = [each.reason for each in send(store, tmp_path / "f").failures]
    assert [reason[: len(OTHER)] for reason in reasons] == ([] if is_right else [OTHER])


@pytest.mark.parametrize(
    "stated",
    [
        lambda _: {"ETag": f'"{"0" * 32}"', "x-amz-server-side-encryption": "aws:kms"},
        lambda _: {"ETag": f'"{"0" * 32}"', "x-amz-server-side-encryption": "AES256"},
        lambda _: {"ETag": f'"{"0" * 32}"', "x-amz-server-side-encryption-customer-algorithm": "AES256"},
        lambda _: {"ETag": f'"{"0" * 32}"', "x-cos-server-side-encryption": "AES256"},
        lambda _: {"ETag": f'"{"0" * 32}"', "x-goog-encryption-kms-key-name": "projects/p"},
        lambda _: {"ETag": '"not-a-sum"'},
        lambda _: {"x-amz-checksum-crc32c": "AAAAAA=="},
    ],
)
@pytest.mark.parametrize("content", [SMALL, CONTENT], ids=["object", "parts"])
def test_tags_that_are_no_sums_of_what_was_sent_are_not_compared(tmp_path: Path, stated, content: bytes):
    assert send(ObjectStore(stated=stated), tmp_path / "f", content).failures == ()


def test_object_of_another_size_behind_an_answer_without_sum_or_tag_is_a_failure(tmp_path: Path):
    store = ObjectStore(damage=damage_all, stated=lambda _: {"ETag": ""}, shows_sizes=True)
    (failure,) = send(store, tmp_path / "f", SMALL).failures
    assert failure.reason.startswith("the store has ")


@pytest.mark.parametrize(("content", "kind"), [(SMALL, "PUT"), (CONTENT, "PUT partNumber uploadId")])
def test_error_in_the_body_of_a_success_is_no_success(tmp_path: Path, content: bytes, kind: str):
    """The store lets nobody look at its objects, so that only its answers say what it has."""
    refuse_once = refuse(kind, "200 OK", "InternalError")

    def fault(head: RequestHead, count: int) -> tuple[str, str] | None:
        return ("403 Forbidden", "") if head.method == "HEAD" else refuse_once(head, count)

    store = ObjectStore(fault)
    assert send(store, tmp_path / "f", content).failures == ()
    assert store.objects == {"up/file": content}


def test_object_that_is_missing_behind_an_answer_without_sum_or_tag_is_a_failure(tmp_path: Path):
    (failure,) = send(ObjectStore(stated=lambda _: {"ETag": ""}), tmp_path / "f", SMALL).failures
    assert "does not have the object" in failure.reason


@pytest.mark.parametrize("status", ["503 Slow Down", "500 Internal Server Error", "429 Too Many Requests"])
@pytest.mark.parametrize("is_stored", [True, False])
def test_object_is_looked_at_again_where_the_store_is_overloaded(tmp_path: Path, status: str, *, is_stored: bool):
    def fault(head: RequestHead, nth: int) -> tuple[str, str] | None:
        return (status, "SlowDown") if head.method == "HEAD" and nth == 1 else None

    store = ObjectStore(fault=fault, stated=lambda _: {"ETag": ""}, shows_sizes=is_stored)
    failures = send(store, tmp_path / "f", SMALL).failures
    assert store.requests.count("HEAD") > 1
    assert bool(failures) is not is_stored


@pytest.mark.parametrize("states_tag", [True, False])
def test_joined_object_that_lacks_a_part_is_a_failure(tmp_path: Path, *, states_tag: bool):
    store = ObjectStore(forgotten=1, states_tag=states_tag, shows_sizes=True)
    (failure,) = send(store, tmp_path / "f").failures
    assert failure.reason.startswith("the store has ")


def test_joined_object_whose_tag_is_that_of_the_parts_is_not_looked_at(tmp_path: Path):
    store = ObjectStore(states_tag=True, shows_sizes=True)
    assert send(store, tmp_path / "f").failures == ()
    assert "HEAD" not in store.requests


def refuse_sums(head: RequestHead, _count: int) -> tuple[str, str] | None:
    has_sum = any(name.startswith("x-amz-checksum") for name in head.headers)
    return ("400 Bad Request", "InvalidArgument") if has_sum else None


@pytest.mark.parametrize("content", [SMALL, CONTENT])
def test_store_that_takes_no_sums_gets_objects_without(tmp_path: Path, content: bytes):
    store = ObjectStore(refuse_sums)
    assert send(store, tmp_path / "f", content, sends_sums=False).failures == ()
    assert store.objects == {"up/file": content}
    assert send(ObjectStore(refuse_sums), tmp_path / "g", content).failures != ()


@pytest.mark.parametrize("content", [SMALL, CONTENT])
def test_object_that_was_damaged_is_seen_by_its_tag_where_no_sums_are_sent(tmp_path: Path, content: bytes):
    (failure,) = send(ObjectStore(damage=damage_all), tmp_path / "f", content, sends_sums=False).failures
    assert failure.reason.startswith(OTHER)
