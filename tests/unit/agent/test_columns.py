"""Records by columns read as they were stored, and take little memory."""

import tracemalloc
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tradewind_agent.columns import NumberColumn, PathColumn, SharedColumn, TagColumn, TextColumn, TimeColumn
from tradewind_agent.engine.http.address import Login, Url
from tradewind_agent.engine.jobs import DownloadJob, DownloadJobs, SizeTrust, find_origins, find_repeated
from tradewind_agent.engine.local.checksums import Checksum
from tradewind_agent.engine.remote.index_page import ListingEntries, ListingEntry
from tradewind_agent.stores.s3.bucket_pages import StoredObject, StoredObjects

NOON = datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)


def fill(column, values: list) -> list:
    for value in values:
        column.append(value)
    return [column[at] for at in range(len(values))]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (TextColumn(), ["a", None, "b \0 ü", "\udcff\ud800", "c"]),
        (TextColumn(""), ["", "a", ""]),
        (PathColumn(), ["a/b/c", "a/b/d", "e", "/f", "g/", "", "h//i"]),
        (TagColumn(), [f'"{"0f" * 16}"', None, f'"{"0F" * 16}"', f'W/"{"0f" * 16}"', f'"{"0f" * 16}-3"', "\xff"]),
        (NumberColumn(), [0, None, 2**62, 1]),
        (TimeColumn(), [None, NOON, datetime(1969, 1, 1, tzinfo=UTC)]),
        (SharedColumn(), [True, "x", None, True, (1, 2)]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_read_as_they_were_stored(column, values: list):
    assert fill(column, values) == values


def test_paths_with_the_names_of_others_read_as_they_were_stored():
    others = PathColumn()
    column = PathColumn(others)
    followed = ["s/a", "s/b%20c", "s/d", "s/", "s/e", "x"]
    paths = ["/out/a", "/out/b c", "/out/", "/out/", "e", ""]
    for other, path in zip(followed, paths, strict=True):
        others.append(other)
        column.append(path)
    assert [column[at] for at in range(len(paths))] == paths
    assert [others[at] for at in range(len(paths))] == followed


def test_times_of_other_zones_are_read_in_utc():
    there = NOON.astimezone(timezone(timedelta(hours=5)))
    assert fill(TimeColumn(), [there]) == [NOON]


def make_job(number: int, **changes) -> DownloadJob:
    url = Url.parse(f"https://host/folder-{number % 3}/file%20{number}.bin?x=a/b")
    return DownloadJob(source=url, destination=f"/out/folder/file {number}.bin", size_bytes=number, **changes)


JOBS = [
    make_job(0),
    make_job(1, size_trust=SizeTrust.ROUNDED, least_bytes=3, etag='"e"', has_md5_tag=True, modified_at=NOON),
    make_job(2, checksum=Checksum("md5", b"0" * 16), may_be_folder=True),
    DownloadJob(source=Url.parse("http://host/")._replace(login=Login("name", "secret")), destination="x"),
]


def test_jobs_read_as_they_were_stored():
    jobs = DownloadJobs(JOBS)
    assert (list(jobs), len(jobs), jobs[-1], jobs[1:3]) == (JOBS, 4, JOBS[-1], JOBS[1:3])
    assert jobs == JOBS
    assert jobs != JOBS[:3]
    assert list(jobs.iterate_field("destination")) == [job.destination for job in JOBS]
    with pytest.raises(IndexError):
        jobs[4]


def list_objects(first: int, last: int) -> list[StoredObject]:
    return [StoredObject(f"folder/{number}", number, None, NOON, "") for number in range(first, last)]


@pytest.fixture
def block_records(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("tradewind_agent.columns.BLOCK_RECORDS", 500)
    return 500


def test_records_in_blocks_read_as_they_were_stored(block_records: int):
    few, many = list_objects(0, 7), list_objects(7, 3 * block_records)
    objects = StoredObjects(few)
    objects.extend(StoredObjects(many))  # whose blocks change hands
    objects.extend(StoredObjects(few))
    every = [*few, *many, *few]
    assert (list(objects), len(objects)) == (every, len(every))
    assert all(objects[at] == every[at] for at in (0, 6, 7, block_records + 8, -1, -len(every)))
    assert objects[5:9] == every[5:9]
    assert list(objects.iterate_field("key")) == [each.key for each in every]
    for outside in (len(every), -len(every) - 1):
        with pytest.raises(IndexError):
            objects[outside]


def test_blocks_that_were_read_take_no_memory(block_records: int):
    tracemalloc.start()
    try:
        objects, copied = StoredObjects(list_objects(0, 20 * block_records)), StoredObjects()
        before_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for each in objects.drain():
            copied.append(each)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(objects), len(copied)) == (0, 20 * block_records)
    assert peak_bytes < 1.3 * before_bytes


def test_many_repeated_values_are_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tradewind_agent.engine.jobs._HASHES_AT_ONCE", 10)
    values = [*(f"value {number}" for number in range(95)), "value 7", "value 94", "value 7"]
    assert find_repeated(values) == {hash("value 7"), hash("value 94")}


def test_size_of_a_job_may_become_known():
    jobs = DownloadJobs(JOBS)
    jobs.set_size(3, 17)
    assert [job.size_bytes for job in jobs] == [0, 1, 2, 17]


def test_entries_read_as_they_were_stored():
    entries = [
        ListingEntry(name="a", is_folder=True, target="/a%2F/", may_be_folder=True),
        ListingEntry(name="b/c", is_folder=False, size_bytes=5, modified_at=NOON, etag='"e"', least_bytes=2),
    ]
    assert list(ListingEntries(entries)) == entries


def test_hundred_thousand_jobs_of_a_store_take_less_than_20_mb():
    jobs = DownloadJobs()
    bucket = Url.parse("https://host/bucket/")
    tracemalloc.start()
    try:
        for number in range(20_000):
            key = f"folder-{number % 100}/object-{number:08}.bin"
            tag = f'"{number:032x}"'
            jobs.append(
                DownloadJob(
                    source=bucket.join_path(key),
                    destination=f"/out/folder/{key}",
                    size_bytes=number,
                    etag=tag,
                    has_md5_tag=True,
                    modified_at=NOON + timedelta(seconds=number),
                )
            )
        used_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used_bytes / 20_000 < 200


def test_values_that_stand_twice_are_found():
    assert find_repeated(["a", "b", "c"]) == frozenset()
    assert find_repeated(["a", "b", "a"]) == {hash("a")}


def test_servers_of_downloads_are_found_without_making_a_job_of_each():
    jobs = DownloadJobs(
        DownloadJob(source=Url.parse(f"http://{host}/{number}"), destination=f"/{host}-{number}")
        for number in range(3)
        for host in ("one", "two")
    )
    expected = {Url.parse("http://one/").origin, Url.parse("http://two/").origin}
    jobs._read = lambda place: pytest.fail("a job was made")  # type: ignore[method-assign]
    assert find_origins(jobs) == expected
    assert find_origins(DownloadJobs()) == frozenset()
