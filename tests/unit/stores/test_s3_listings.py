"""Pages of listings, and which of their objects can be files here."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.path_selection import PathSelection, Selecting
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.s3.bucket_pages import (
    BucketPage,
    Restoration,
    StoredObject,
    StoredObjects,
    parse_bucket_page,
)
from tradewind_agent.stores.s3.object_jobs import ObjectJobs

BUCKET = Url.parse("http://127.0.0.1:9000/data/")


def write_page(inside: str) -> bytes:
    return f'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{inside}</ListBucketResult>'.encode()


def test_a_page_has_objects_prefixes_and_the_way_on():
    page = write_page(
        "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>t+/=</NextContinuationToken>"
        "<Contents><Key>a%2Fb+c%C3%BC</Key><LastModified>2026-05-01T12:00:00.500Z</LastModified>"
        '<ETag>"e"</ETag><Size>12</Size><StorageClass>GLACIER</StorageClass></Contents>'
        "<CommonPrefixes><Prefix>a%2Fd%2F</Prefix></CommonPrefixes>"
    )
    found = StoredObject("a/b cü", 12, '"e"', datetime(2026, 5, 1, 12, tzinfo=UTC), "GLACIER")
    assert parse_bucket_page(BUCKET, page, "a/") == BucketPage((found,), ("a/d/",), "t+/=")


@pytest.mark.parametrize(
    ("status", "restoration"),
    [
        ("", None),
        ("<RestoreStatus/>", None),
        ("<RestoreStatus><IsRestoreInProgress>false</IsRestoreInProgress></RestoreStatus>", None),
        ("<RestoreStatus><IsRestoreInProgress>true</IsRestoreInProgress></RestoreStatus>", Restoration.RUNNING),
        (
            "<RestoreStatus><RestoreExpiryDate>2026-12-01T00:00:00.000Z</RestoreExpiryDate></RestoreStatus>",
            Restoration.DONE,
        ),
    ],
)
def test_page_states_how_far_an_object_is_restored(status: str, restoration: Restoration | None):
    page = parse_bucket_page(BUCKET, write_page(f"<Contents><Key>a</Key>{status}</Contents>"), "")
    assert page.objects[0].restoration is restoration


def test_page_that_names_the_next_one_goes_on_unless_it_says_that_it_is_the_last():
    token = "<NextContinuationToken>t</NextContinuationToken>"
    assert parse_bucket_page(BUCKET, write_page(token), "").next_token == "t"
    assert parse_bucket_page(BUCKET, write_page(f"<IsTruncated>false</IsTruncated>{token}"), "").next_token is None


def test_error_in_place_of_a_listing_is_named():
    with pytest.raises(UnusableSource, match=r"an error in place of a listing \(InternalError: oops\)"):
        parse_bucket_page(BUCKET, b"<Error><Code>InternalError</Code><Message>oops</Message></Error>", "")


def test_missing_fields_are_unknown():
    page = write_page("<Contents><Key>a+b</Key><Size>-1</Size><LastModified>soon</LastModified></Contents>")
    assert parse_bucket_page(BUCKET, page, "").objects == (StoredObject("a+b", None, None, None, ""),)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html></html>",
        b"<Error><Code>x</Code></Error>",
        b'<!DOCTYPE a [<!ENTITY b "c">]><ListBucketResult/>',
        write_page("<IsTruncated>true</IsTruncated>"),
        write_page("<NextMarker>aa</NextMarker>"),
        write_page("<Contents><Size>1</Size></Contents>"),
        write_page("<Contents><Key>b</Key></Contents>"),
        write_page("<CommonPrefixes><Prefix>a</Prefix></CommonPrefixes>"),
        write_page("<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>"),
    ],
)
def test_other_answers_are_no_page(body: bytes):
    with pytest.raises(UnusableSource):
        parse_bucket_page(BUCKET, body, "a")


def add_folder(keys: list[str], unreadable: dict[str, str] | None = None) -> ObjectJobs:
    chosen = ObjectJobs("data", BUCKET.join_path, unreadable or {}, Selecting())
    objects = StoredObjects(StoredObject(key, 0 if key.endswith("/") else 5, None, None, "") for key in keys)
    chosen.add_folder(objects, "top/", Path("/out"))
    return chosen


def test_objects_below_a_prefix_are_files_below_the_folder():
    chosen = add_folder(["top/", "top/a", "top/sub/", "top/sub/b ü"])
    assert {str(job.destination) for job in chosen.jobs} == {"/out/a", "/out/sub/b ü"}
    assert {str(job.source) for job in chosen.jobs} == {f"{BUCKET}top/a", f"{BUCKET}top/sub/b%20%C3%BC"}
    assert chosen.omissions == []


def test_backslash_is_a_character_of_a_key_unless_it_separates_folders_here():
    chosen = add_folder(["top/sub\\b"])
    assert [str(job.destination) for job in chosen.jobs] == ([] if os.sep == "\\" else ["/out/sub\\b"])


@pytest.mark.parametrize("key", ["top//a", "top/../a", "top/./a", "top/a//b", "top/a\0b"])
def test_keys_that_no_file_can_have_are_left_out_and_named(key: str):
    chosen = add_folder([key, "top/good"])
    assert [str(job.destination) for job in chosen.jobs] == ["/out/good"]
    assert [each.place for each in chosen.omissions] == [f"s3://data/{key}"]


def test_a_file_is_stored_and_the_folder_of_its_name_is_left_out():
    chosen = add_folder(["top/a", "top/a/b", "top/a/b/c", "top/ab"])
    assert [str(job.destination) for job in chosen.jobs] == ["/out/a", "/out/ab"]
    assert [each.place for each in chosen.omissions] == ["s3://data/top/a/b", "s3://data/top/a/b/c"]
    assert "'a' is a file and a folder at once" in chosen.omissions[0].reason


def test_a_folder_with_content_of_its_own_is_left_out():
    chosen = ObjectJobs("data", BUCKET.join_path, {}, Selecting())
    for key in ("top/sub/", "top/"):
        chosen.add_folder(StoredObjects([StoredObject(key, 5, None, None, "")]), "top/", Path("/out"))
    assert [each.place for each in chosen.omissions] == ["s3://data/top/sub/", "s3://data/top/"]


def test_selection_holds_for_copies_to_another_store_as_well():
    chosen = ObjectJobs(
        "data", BUCKET.join_path, {}, Selecting(PathSelection.parse([], ["*.tmp", "old/"])), keeps_keys=True
    )
    keys = {"top/a": 5, "top/b.tmp": 5, "top/old/c": 5, "top/old/": 0, "top/sub/": 0, "top//d": 5}
    objects = StoredObjects(StoredObject(key, size, None, None, "") for key, size in keys.items())
    chosen.add_folder(objects, "top/", Path())
    assert {job.destination for job in chosen.jobs} == {"a", "sub/", "/d"}
    assert chosen.omissions == []


def test_content_of_the_folder_itself_is_left_out_between_stores_as_well():
    chosen = ObjectJobs("data", BUCKET.join_path, {}, Selecting(), keeps_keys=True)
    for size in (5, 0):
        chosen.add_folder(StoredObjects([StoredObject("top/", size, None, None, "")]), "top/", Path())
    assert [each.place for each in chosen.omissions] == ["s3://data/top/"]


def test_object_that_is_listed_twice_is_one_file():
    assert [str(job.destination) for job in add_folder(["top/a", "top/b", "top/a"]).jobs] == ["/out/a", "/out/b"]


def test_unreadable_objects_are_left_out_with_their_reason():
    chosen = add_folder(["top/a", "top/b"], {"top/a": "is archived"})
    assert [(each.place, each.reason) for each in chosen.omissions] == [("s3://data/top/a", "is archived")]
    assert [str(job.destination) for job in chosen.jobs] == ["/out/b"]
