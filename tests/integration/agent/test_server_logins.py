"""Headers, tokens and certificates that a copy brings to the servers that the user names."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.agent.support.command import run
from tests.integration.certificates import make_certificates
from tests.integration.engine.servers.rough_server import RoughServer, plain, redirect
from tests.integration.engine.servers.web_servers import nginx
from tests.integration.serve_files.serving import serving

CONTENT = b"c" * 10_000


@pytest.fixture
def servers() -> Iterator[tuple[RoughServer, RoughServer]]:
    """One server with a file, which also redirects to one of another server."""
    ready = threading.Event()
    found: list[RoughServer] = []
    stops: list[Callable[[], object]] = []

    async def serve() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        stops.append(lambda: loop.call_soon_threadsafe(stop.set))
        async with RoughServer({"/there": plain(CONTENT)}) as other:
            elsewhere = other.url.replace("127.0.0.1", "localhost")
            answers = {"/file": plain(CONTENT), "/moved": redirect(f"{elsewhere}/there")}
            async with RoughServer(answers) as one:
                found.extend((one, other))
                ready.set()
                await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))  # which closes what is still open
    thread.start()
    ready.wait()
    yield found[0], found[1]
    stops[0]()
    thread.join()


def list_sent(server: RoughServer, name: str) -> set[str | None]:
    return {asked.headers.get(name) for asked in server.asked}


def test_header_goes_to_the_named_server_and_to_no_other(env, servers, tmp_path: Path):
    one, other = servers
    options = ("--header", "X-Key: a: b", "--header", "authorization:Basic abc")
    done = run("copy", f"{one.url}/file", f"{one.url}/moved", f"{tmp_path}/got/", *options, env=env)
    assert done.code == 0, done.err
    assert list_sent(one, "x-key") == {"a: b"}
    assert list_sent(one, "authorization") == {"Basic abc"}
    assert other.asked
    assert list_sent(other, "x-key") == list_sent(other, "authorization") == {None}


@pytest.mark.parametrize("place", ["env:MY_TOKEN", "file"])
def test_token_is_read_from_the_environment_or_a_file(env, servers, tmp_path: Path, place: str):
    (tmp_path / "file").write_text("abc.def-1\n")
    done = run(
        *("copy", f"{servers[0].url}/file", "got", "--bearer-token", place),
        env=env | {"MY_TOKEN": "abc.def-1"},
        cwd=tmp_path,
    )
    assert done.code == 0, done.err
    assert list_sent(servers[0], "authorization") == {"Bearer abc.def-1"}
    assert "abc.def-1" not in done.out + done.err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--header", "no header"), "is no header"),
        (("--header", "a b: c"), "is no header"),
        (("--header", "a: b\nc: d"), "is no header"),
        (("--header", "Range: bytes=0-1"), "is set by the copy itself"),
        (("--bearer-token", "env:NOTHING"), "holds no token"),
        (("--bearer-token", "/nowhere"), "no such file"),
        (("--key", "/nowhere"), "goes with --cert"),
        (("--cert", "/nowhere"), "/nowhere"),
        (("--timeout", "0"), "must be above 0"),
        (("--timeout", "-1s"), "--timeout"),
        (("--timeout", "soon"), "--timeout"),
    ],
)
def test_option_that_cannot_be_used_is_refused_in_one_line(env, tmp_path: Path, options: tuple[str, ...], reason: str):
    done = run("copy", "http://127.0.0.1:9/x", str(tmp_path / "x"), *options, env=env)
    assert done.code == 2
    assert reason in done.err.replace("\n", " ")
    assert "Traceback" not in done.err


@pytest.mark.parametrize("place", ["", "file"])
def test_server_that_wants_a_token_is_answered_with_the_option_for_it(env, tmp_path: Path, place: str):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "file").write_bytes(CONTENT)
    with serving(tmp_path / "set", bearer_token="sesame") as server:
        done = run("copy", f"{server.url}{place}", f"{tmp_path}/got", env=env)
        sent = run("copy", str(tmp_path / "set"), server.url, env=env)
    assert (done.code, sent.code) == (1, 1)
    for each in (done, sent):
        assert "401 Unauthorized; give --bearer-token FILE, --header" in each.out + each.err
        assert "~/.netrc" in each.out + each.err


def test_certificate_of_the_client_is_shown_to_a_server_that_asks(env, tmp_path: Path):
    root, work = tmp_path / "root", tmp_path / "work"
    root.mkdir()
    work.mkdir()
    certificates = make_certificates(tmp_path)
    (root / "file").write_bytes(CONTENT)
    asks = f"ssl_client_certificate {certificates.authority}; ssl_verify_client on;"
    with nginx(root, work, server=asks, tls=(certificates.certificate, certificates.key)) as server:
        command = ("copy", f"{server.url}file", str(tmp_path / "got"), "--ca-file", str(certificates.authority))
        without = run(*command, env=env)
        shown = ("--cert", str(certificates.certificate), "--key", str(certificates.key))
        done = run(*command, *shown, env=env)
    assert without.code == 1
    assert "400 Bad Request" in without.out + without.err
    assert done.code == 0, done.err
    assert (tmp_path / "got").read_bytes() == CONTENT
