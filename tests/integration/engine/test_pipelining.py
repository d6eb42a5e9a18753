"""Requests are pipelined where the server has proved that it keeps them apart; each file gets its own bytes."""

import asyncio
import fcntl
import os
from pathlib import Path

import pytest

from tests.integration.engine.servers.batch_server import (
    BatchServer,
    Policy,
    backwards,
    closing_after_first,
    every_one_twice,
    first_and_third_swapped,
    first_instead_of_all,
    first_twice,
    in_order,
    last_twice,
    no_more_than_three,
    nothing_of_several,
    only_first,
    only_last,
    without_every_second,
)
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.engine import TransferEngine, TransferResult, UploadJob, Url
from tradewind_agent.engine.origin.book import OriginBook

EQUAL = {f"/f{number:02}": os.urandom(400) for number in range(60)}
MIXED = {name: content[: 200 + index % 7] for index, (name, content) in enumerate(EQUAL.items())}

FAULTY: list[Policy] = [
    only_first,
    only_last,
    without_every_second,
    backwards,
    first_twice,
    every_one_twice,
    last_twice,
    first_and_third_swapped,
    first_instead_of_all,
    closing_after_first,
    no_more_than_three,
    nothing_of_several,
]


def copy_all(server: BatchServer, folder: Path, *, pipelines: int = 2, pipelining: int = 12) -> TransferResult:
    async def story() -> TransferResult:
        async with server, asyncio.timeout(20.0):  # less than the idle timeout
            sizes = {name[1:]: len(content) for name, content in server.files.items()}
            engine = TransferEngine(plan(pipelines, 1, pipelining), options(idle_timeout_s=30.0))
            return await engine.run(jobs_for(server.url, sizes, folder, sizes))

    return asyncio.run(story())


@pytest.mark.parametrize("files", [EQUAL, MIXED], ids=["equal-sizes", "several-sizes"])
@pytest.mark.parametrize("policy", FAULTY, ids=lambda policy: policy.__name__)
def test_a_server_that_forgets_or_mixes_requests_gives_no_file_anothers_bytes(
    tmp_path: Path, policy: Policy, files: dict[str, bytes]
):
    result = copy_all(BatchServer(files, policy), tmp_path)
    assert (result.failures, result.files_done) == ((), len(files))
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize("policy", FAULTY, ids=lambda policy: policy.__name__)
def test_equal_files_of_a_server_without_ranges_are_not_confused(tmp_path: Path, policy: Policy):
    server = BatchServer(EQUAL, policy, does_ranges=False, has_etags=False)
    result = copy_all(server, tmp_path)
    assert (result.failures, result.files_done) == ((), len(EQUAL))
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()} == EQUAL


def test_part_that_another_run_takes_during_a_trial_fails_its_file_alone(tmp_path: Path):
    held: list[int] = []

    def lock_first(batch):
        if not held:
            held.append(os.open(tmp_path / ".f00.tradewind-part", os.O_RDWR | os.O_CREAT, 0o666))
            fcntl.flock(held[0], fcntl.LOCK_EX)
        return batch

    result = copy_all(BatchServer(EQUAL, lock_first), tmp_path, pipelines=1)
    os.close(held[0])
    (failure,) = result.failures
    assert failure.reason.startswith("another copy is writing")
    assert result.files_done == len(EQUAL) - 1
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.glob("f*")}.items() <= EQUAL.items()


@pytest.mark.parametrize("policy", FAULTY, ids=lambda policy: policy.__name__)
def test_files_that_are_missing_are_the_ones_that_fail(tmp_path: Path, policy: Policy):
    missing = {"/f03", "/f04", "/f31", "/f58"}
    server = BatchServer({name: content for name, content in EQUAL.items() if name not in missing}, policy)

    async def story() -> TransferResult:
        async with server, asyncio.timeout(20.0):
            sizes = {name[1:]: len(content) for name, content in EQUAL.items()}
            engine = TransferEngine(plan(2, 1, 12), options(idle_timeout_s=30.0))
            return await engine.run(jobs_for(server.url, sizes, tmp_path, sizes))

    result = asyncio.run(story())
    assert {failure.url.removeprefix(server.url) for failure in result.failures} == missing
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()} == server.files


def test_server_that_keeps_order_gets_full_pipeline(tmp_path: Path):
    server = BatchServer(EQUAL, in_order)
    assert copy_all(server, tmp_path, pipelines=1, pipelining=8).files_done == len(EQUAL)
    assert server.largest_batch == 8
    members_set_apart = 8 - 2  # of the last trial; one is requested whole, one as a range of all bytes
    assert len(server.requests) == len(EQUAL) + members_set_apart


def test_parts_of_a_trial_that_no_validator_names_are_requested_again(tmp_path: Path):
    server = BatchServer(EQUAL, in_order, has_etags=False)
    assert copy_all(server, tmp_path, pipelines=1, pipelining=8).files_done == len(EQUAL)
    assert server.largest_batch == 8
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()} == EQUAL


def test_answers_of_equal_files_from_a_server_without_ranges_prove_nothing(tmp_path: Path):
    server = BatchServer(EQUAL, in_order, does_ranges=False)
    assert copy_all(server, tmp_path).files_done == len(EQUAL)
    assert server.largest_batch == 2
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()} == EQUAL


def test_a_contradiction_after_the_proof_ends_pipelining(tmp_path: Path):
    batches = 0

    def later_backwards(batch):
        nonlocal batches
        batches += 1
        return batch if batches < 5 else batch[::-1]

    server = BatchServer(EQUAL, later_backwards)
    result = copy_all(server, tmp_path, pipelines=1, pipelining=8)
    assert result.files_done == len(EQUAL)
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()} == EQUAL


def test_files_whose_sizes_are_unknown_are_not_confused_after_the_proof(tmp_path: Path):
    batches: list[int] = []

    def later_backwards(batch):
        batches.append(len(batch))
        return batch if max(batches) < 2 or len(batches) < 4 else batch[::-1]

    async def story() -> TransferResult:
        async with BatchServer(MIXED, later_backwards, has_etags=False) as server, asyncio.timeout(20.0):
            names = [name[1:] for name in MIXED]
            sizes = {
                name: len(MIXED[f"/{name}"]) if number < 4 or number % 9 == 0 else None
                for number, name in enumerate(names)
            }
            engine = TransferEngine(plan(1, 1, 8), options(idle_timeout_s=30.0))
            return await engine.run(jobs_for(server.url, names, tmp_path, sizes))

    result = asyncio.run(story())
    assert (result.failures, result.files_done) == ((), len(MIXED))
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()} == MIXED
    assert max(batches) > 1


def test_equal_files_of_a_server_without_ranges_are_not_confused_after_a_proof_by_others(tmp_path: Path):
    files = {f"/f{number:02}": os.urandom(500 + number if number < 4 else 400) for number in range(30)}
    files["/f00"] = bytes(5_000_000)  # its ranges show that the server has none
    batches: list[int] = []

    def later_backwards(batch):
        batches.append(len(batch))
        return batch if max(batches) < 2 or len(batches) < 4 else batch[::-1]

    server = BatchServer(files, later_backwards, does_ranges=False, has_etags=False)
    result = copy_all(server, tmp_path, pipelines=1, pipelining=2)
    assert (result.failures, result.files_done) == ((), len(files))
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()} == files
    assert max(batches) > 1


def test_the_first_of_several_requests_is_checked_after_the_proof_too(tmp_path: Path):
    """A pipeline that connects after the proof: its first request has no other one before it to be set apart from."""
    batches: list[int] = []

    def swap_after_retune(batch):
        batches.append(len(batch))
        if len(batches) == 4:
            engine.retune(plan(3, 1, 4))
        return batch if len(batches) <= 4 else batch[::-1]

    async def story() -> TransferResult:
        async with BatchServer(EQUAL, swap_after_retune) as server, asyncio.timeout(20.0):
            sizes = {name[1:]: len(content) for name, content in EQUAL.items()}
            return await engine.run(jobs_for(server.url, sizes, tmp_path, sizes))

    engine = TransferEngine(plan(1, 1, 4), options(idle_timeout_s=30.0))
    assert asyncio.run(story()).files_done == len(EQUAL)
    assert {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()} == EQUAL


def upload_all(server: BatchServer, folder: Path, *, pipelining: int = 12) -> TransferResult:
    for name, content in EQUAL.items():
        (folder / name[1:]).write_bytes(content)

    def job(source: Path) -> UploadJob:
        place, found = Url.parse(f"{server.url}/{source.name}"), source.stat()
        return UploadJob(source=source, destination=place, size_bytes=found.st_size, modified_at_ns=found.st_mtime_ns)

    async def story() -> TransferResult:
        async with server, asyncio.timeout(20.0):
            jobs = [job(source) for source in sources]
            return await TransferEngine(plan(2, 1, pipelining), options(idle_timeout_s=30.0)).run(jobs)

    sources = sorted(folder.iterdir())
    return asyncio.run(story())


@pytest.mark.parametrize(
    "policy",
    [only_first, only_last, without_every_second, backwards, closing_after_first, no_more_than_three, in_order],
    ids=lambda policy: policy.__name__,
)
def test_an_upload_counts_as_stored_only_where_the_server_has_answered_it(tmp_path: Path, policy: Policy):
    server = BatchServer({}, policy)
    assert upload_all(server, tmp_path).files_done == len(EQUAL)
    assert server.stored == EQUAL


def test_connections_that_end_without_notice_after_an_answer_do_not_keep_uploads_from_their_end(tmp_path: Path):
    server = BatchServer({}, lambda batch: [*batch[:1], None])
    assert upload_all(server, tmp_path).files_done == len(EQUAL)
    assert server.stored == EQUAL
    assert len(server.requests) < 4 * len(EQUAL)


def test_server_that_failed_at_pipelining_is_not_tried_again_by_the_next_run(tmp_path: Path):
    book, batches = OriginBook(tmp_path / "origins.json"), []

    async def story() -> None:
        async with BatchServer(EQUAL, only_first) as server, asyncio.timeout(20.0):
            sizes = {name[1:]: len(content) for name, content in server.files.items()}
            for run in ("one", "two"):
                server.largest_batch = 0
                engine = TransferEngine(plan(2, 1, 12), options(idle_timeout_s=30.0, origins=book))
                result = await engine.run(jobs_for(server.url, sizes, tmp_path / run, sizes))
                assert result.files_done == len(EQUAL)
                batches.append(server.largest_batch)

    asyncio.run(story())
    assert batches == [2, 1]


class Broken(BatchServer):
    """Fails at some requests, after it has shown that it answers all."""

    taken = 0

    def _answer(self, request):
        self.taken += 1
        if self.taken in range(21, 40, 2):
            return b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
        return super()._answer(request)


def test_an_error_among_answers_to_uploads_is_nobodys_until_each_is_sent_again(tmp_path: Path):
    server = Broken({}, backwards)
    result = upload_all(server, tmp_path, pipelining=2)
    assert (result.failures, result.files_done) == ((), len(EQUAL))
    assert server.stored == EQUAL
