"""Redirects to addresses that expire, and those that set a cookie and come back."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.engine.fetching import CONTENT, SMALL, copies, fetch_one, reason_of_failure
from tests.integration.engine.servers.rough_server import Answer, RoughRequest, RoughServer, head, plain, status
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.engine import TransferEngine, TransferResult


def signed(content: bytes, *, uses: int, refusal: str) -> dict[str, Answer]:
    """A file that redirects to an address which is good for so many requests."""
    issued = 0
    left: dict[str, int] = {}
    answers: dict[str, Answer] = {}

    async def by_signature(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        if not left[asked.path]:
            await status(refusal, 10**6)(asked, writer)
            return
        left[asked.path] -= 1
        await plain(content)(asked, writer)

    async def issue(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        nonlocal issued
        issued += 1
        place = f"/signed{issued}"
        left[place], answers[place] = uses, by_signature
        writer.write(head("302 Found", asked, Content_Length=0, Location=place))

    answers["/file"] = issue
    return answers


@pytest.mark.parametrize("refusal", ["403 Forbidden", "400 Bad Request", "410 Gone"])
@pytest.mark.parametrize("uses", [1, 3])
def test_signed_address_that_expires_is_requested_again(tmp_path: Path, uses: int, refusal: str):
    async def story() -> TransferResult:
        async with RoughServer(signed(CONTENT, uses=uses, refusal=refusal)) as server:
            return await fetch_one(server, tmp_path)

    assert asyncio.run(story()).failures == ()
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_address_that_is_never_good_fails_after_one_more(tmp_path: Path):
    async def story() -> tuple[TransferResult, int]:
        async with RoughServer(signed(CONTENT, uses=0, refusal="404 Not Found")) as server:
            return await fetch_one(server, tmp_path), len(server.asked)

    result, requests = asyncio.run(story())
    assert [failure.reason for failure in result.failures] == ["the server answered 404 Not Found"]
    assert requests == 4


def with_cookie(content: bytes, *, set_cookie: str) -> Answer:
    """A file for those who bring the cookie; others are redirected to the same address, with it."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        if "k=1" in asked.headers.get("cookie", ""):
            await plain(content)(asked, writer)
        else:
            fields = {"Content_Length": 0, "Location": asked.path, "Set_Cookie": set_cookie}
            writer.write(head("302 Found", asked, **fields))

    return answer


@pytest.mark.parametrize(
    "set_cookie",
    [
        "k=1",
        "k=1; Path=/; HttpOnly",
        "k=1; Expires=Wed, 01 Jan 2098 00:00:00 GMT",
        "k=1; Max-Age=; Path=/",
        'k=1; Path="/"',
        "k=1; Domain=127.0.0.1",
    ],
)
def test_cookie_of_a_redirect_is_sent_back(tmp_path: Path, set_cookie: str):
    _, server = copies(with_cookie(SMALL, set_cookie=set_cookie), tmp_path, SMALL)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "set_cookie", ["k=1; Path=/elsewhere", "k=1; Secure", "k=1; Domain=example.org", "k=1; Max-Age=0", "=;;="]
)
def test_cookie_that_is_not_for_this_address_is_not_sent(tmp_path: Path, set_cookie: str):
    reason, server = reason_of_failure(with_cookie(SMALL, set_cookie=set_cookie), tmp_path)
    assert reason == "more than 10 redirects"
    assert all("cookie" not in asked.headers for asked in server.asked)


def test_cookie_stays_with_the_server_that_set_it(tmp_path: Path):
    async def story() -> list[str | None]:
        # The loopback has several names: cookies know hosts, not ports (RFC 6265 section 8.5).
        async with (
            RoughServer({"/a": with_cookie(SMALL, set_cookie="k=1")}) as one,
            RoughServer({"/b": plain(SMALL)}) as two,
        ):
            elsewhere = two.url.replace("127.0.0.1", "localhost")
            jobs = [*jobs_for(one.url, ["a"], tmp_path), *jobs_for(elsewhere, ["b"], tmp_path)]
            assert (await TransferEngine(plan(1), options()).run(jobs)).failures == ()
            return [asked.headers.get("cookie") for asked in two.asked]

    assert set(asyncio.run(story())) == {None}
