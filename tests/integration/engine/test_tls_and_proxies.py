"""https with an authority of one's own, proxies, logins."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.certificates import Certificates, make_certificates
from tests.integration.engine.servers.http_proxy import HttpProxy
from tests.integration.engine.servers.rough_server import RoughServer, plain, redirect
from tests.integration.engine.servers.socks_proxy import SocksProxy
from tests.integration.engine.servers.web_servers import WebServer, nginx
from tests.integration.engine.transfers import digests, jobs_for, options, plan, transfer
from tradewind_agent.engine import (
    Credentials,
    DownloadJob,
    Proxies,
    TransferEngine,
    TransferResult,
    Url,
    build_tls_context,
    list_downloads,
)

SMALL = bytes(range(256)) * 200


@pytest.fixture(scope="module")
def certificates(world_readable: Path) -> Certificates:
    folder = world_readable / "certificates"
    folder.mkdir()
    return make_certificates(folder)


@pytest.fixture(scope="module")
def https_server(content: Path, certificates: Certificates, world_readable: Path) -> Iterator[WebServer]:
    work = world_readable / "https"
    work.mkdir()
    with nginx(
        content, work, server="keepalive_requests 20;", tls=(certificates.certificate, certificates.key)
    ) as server:
        yield server


@pytest.mark.parametrize(("concurrency", "parallelism", "pipelining"), [(1, 1, 1), (3, 2, 4)])
def test_every_byte_arrives_over_tls(
    https_server: WebServer,
    certificates: Certificates,
    content: Path,
    tmp_path: Path,
    concurrency: int,
    parallelism: int,
    pipelining: int,
):
    trusting = options(tls=build_tls_context(ca_file=certificates.authority))
    jobs = asyncio.run(list_downloads([Url.parse(https_server.url)], tmp_path, trusting)).jobs
    result = transfer(jobs, plan(concurrency, parallelism, pipelining), tls=trusting.tls)
    assert result.failures == ()
    assert digests(tmp_path) == digests(content)


def test_an_unknown_authority_is_refused_at_once(https_server: WebServer, tmp_path: Path):
    result = transfer(jobs_for(https_server.url, ["empty.bin"], tmp_path), plan(1))
    (failure,) = result.failures
    why = "unable to get local issuer certificate"
    assert failure.reason == f"the certificate of 127.0.0.1 is not trusted ({why}); name its authority by --ca-file"
    assert list(tmp_path.iterdir()) == []


def test_only_insecure_accepts_any_certificate(https_server: WebServer, tmp_path: Path):
    jobs = jobs_for(https_server.url, ["small/s01.bin"], tmp_path)
    assert transfer(jobs, plan(1), tls=build_tls_context(insecure=True)).succeeded


def test_https_uses_connect_tunnel(https_server: WebServer, certificates: Certificates, content: Path, tmp_path: Path):
    async def story() -> HttpProxy:
        async with HttpProxy() as proxy:
            chosen = options(
                tls=build_tls_context(ca_file=certificates.authority),
                proxies=Proxies.from_environment({"all_proxy": f"http://me:pw@{proxy.address}"}),
            )
            jobs = (await list_downloads([Url.parse(f"{https_server.url}middle/")], tmp_path, chosen)).jobs
            assert (await TransferEngine(plan(2, 2, 2), chosen).run(jobs)).failures == ()
        return proxy

    proxy = asyncio.run(story())
    assert digests(tmp_path) == digests(content / "middle")
    assert set(proxy.requests) == {f"CONNECT 127.0.0.1:{https_server.port} HTTP/1.1"}
    assert proxy.authorizations == {"Basic bWU6cHc="}


def test_http_through_proxy_uses_absolute_uri(tmp_path: Path):
    async def story() -> tuple[HttpProxy, str]:
        async with HttpProxy() as proxy, RoughServer({"/file": plain(SMALL)}) as server:
            chosen = options(proxies=Proxies.from_environment({"http_proxy": f"http://me:pw@{proxy.address}"}))
            result = await TransferEngine(plan(1), chosen).run(jobs_for(server.url, ["file"], tmp_path))
            assert result.failures == ()
            return proxy, server.url

    proxy, url = asyncio.run(story())
    assert proxy.requests == [f"GET {url}/file HTTP/1.1"]
    assert proxy.authorizations == {"Basic bWU6cHc="}
    assert (tmp_path / "file").read_bytes() == SMALL


def test_a_tunnel_that_is_refused_fails_in_one_line(https_server: WebServer, tmp_path: Path):
    async def story() -> TransferResult:
        async with HttpProxy(refuse=True) as proxy:
            chosen = options(proxies=Proxies.from_environment({"all_proxy": proxy.address}))
            return await TransferEngine(plan(1), chosen).run(jobs_for(https_server.url, ["empty.bin"], tmp_path))

    (failure,) = asyncio.run(story()).failures
    assert failure.reason == "the proxy refused the tunnel: 407 Proxy Authentication Required"


def test_socks_proxy_is_gone_through_and_looks_up_the_name(tmp_path: Path):
    async def story() -> tuple[TransferResult, list[str]]:
        async with RoughServer({"/file": plain(SMALL)}) as server, SocksProxy(server.address) as proxy:
            chosen = options(proxies=Proxies.from_environment({"all_proxy": f"socks5h://{proxy.address}"}))
            jobs = jobs_for("http://data.example", ["file"], tmp_path)
            return await TransferEngine(plan(1), chosen).run(jobs), proxy.names

    result, names = asyncio.run(story())
    assert result.failures == ()
    assert set(names) == {"data.example"}
    assert (tmp_path / "file").read_bytes() == SMALL


def test_socks_proxy_that_refuses_or_is_away_is_named_with_its_variable(tmp_path: Path):
    async def story() -> list[str]:
        async with SocksProxy("", refuse=True) as proxy:
            address = proxy.address
            chosen = options(proxies=Proxies.from_environment({"all_proxy": f"socks5h://{address}"}))
            jobs = jobs_for("http://data.example", ["file"], tmp_path)
            results = [await TransferEngine(plan(1), chosen).run(jobs)]
        results.append(await TransferEngine(plan(1), chosen).run(jobs))
        return [result.failures[0].reason.replace(address, "ADDRESS") for result in results]

    refused, away = asyncio.run(story())
    assert refused.startswith("the proxy ADDRESS of all_proxy refused the connection: ")
    assert away.startswith("cannot connect to proxy ADDRESS of all_proxy: ")


def test_logins_come_from_netrc_and_from_the_url(tmp_path: Path):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ann password secret\n")
    credentials = Credentials.from_netrc(tmp_path / "netrc")

    async def story() -> list[str | None]:
        async with RoughServer({"/file": plain(SMALL), "/other": plain(SMALL)}) as server:
            jobs = jobs_for(server.url, ["file"], tmp_path)
            named = Url.parse(server.url.replace("//", "//bob:pw@") + "/other")
            jobs.append(DownloadJob(source=named, destination=str(tmp_path / "other")))
            assert (await TransferEngine(plan(1), options(credentials=credentials)).run(jobs)).succeeded
            return [asked.headers.get("authorization") for asked in sorted(server.asked, key=lambda each: each.path)]

    assert asyncio.run(story()) == ["Basic YW5uOnNlY3JldA==", "Basic Ym9iOnB3"]


def test_token_is_sent_only_to_its_server(tmp_path: Path):
    async def story() -> tuple[set[str | None], set[str | None]]:
        there = RoughServer({"/there": plain(SMALL)})
        async with there, RoughServer({"/file": redirect(f"{there.url}/there")}) as here:
            credentials = Credentials(tokens={Url.parse(here.url).origin: "t0k3n"})
            engine = TransferEngine(plan(1), options(credentials=credentials))
            assert (await engine.run(jobs_for(here.url, ["file"], tmp_path))).succeeded
            return tuple({asked.headers.get("authorization") for asked in each.asked} for each in (here, there))

    assert asyncio.run(story()) == ({"Bearer t0k3n"}, {None})
