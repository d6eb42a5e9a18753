"""Pages recorded by a real browser over HTTP/1.1, TLS and HTTP/2, through the command line to the page of them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from struct import pack
from urllib.parse import urlsplit
from uuid import uuid4
from zlib import compress, crc32

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from services.application.access.users import ROLES, add_user
from services.bootstrap import Container
from tests.browser.accessibility import offences
from tests.browser.conftest import choose_password, patience_ms, sign_in, to_page
from tests.conditions import eventually
from tests.integration.agent.support.command import environment, run
from tests.integration.certificates import make_certificates
from tests.integration.engine.servers.web_servers import nginx
from tests.ports import free_port
from tests.stack import Tenant, new_tenant
from tradewind.connections.analysis import EncryptionClass, PageAnalysis, analyse
from tradewind.connections.har import build_page_loads
from tradewind_agent.har.file import read_har

SIZES = {"a.css": 3_000, "b.js": 40_000} | {f"{number}.png": 20_000 + 15_000 * number for number in range(10)}
HEAD_BYTES = 500
"""Of an answer: the recorder may count them with the body, or take them off it."""

SMALL = {"width": 400, "height": 800}


@dataclass(frozen=True)
class Recorded:
    """A log, and the marks of the connections that the server saw."""

    path: Path
    connections: frozenset[str]

    def analysed(self) -> PageAnalysis:
        (load,) = build_page_loads(read_har(self.path))
        return analyse(load, proxy="edge")


@pytest.fixture(scope="module")
def recorded(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Recorded]]:
    work = tmp_path_factory.mktemp("web")
    root = work / "root"
    root.mkdir()
    for name, size in SIZES.items():
        (root / name).write_bytes(_png(size) if name.endswith("png") else b" " * size)
    images = "".join(f"<img src={name}>" for name in SIZES if name.endswith("png"))
    head = "<!doctype html><title>A page</title><link rel=stylesheet href=a.css><script src=b.js></script>"
    (root / "page.html").write_text(head + images)
    keys = make_certificates(work)
    plain, multiplexed = free_port(), free_port()
    # So slow that images are under way at the same time on a busy machine, too.
    server = f"""
        limit_rate 60k;
        listen 127.0.0.1:{plain}; listen 127.0.0.1:{multiplexed} ssl http2; add_header X-Cache "HIT from edge";
        types {{ text/html html; text/css css; text/javascript js; image/png png; }}"""
    with nginx(root, work, server=server, tls=(keys.certificate, keys.key)) as served:
        addresses = {
            "http": f"http://127.0.0.1:{plain}/",
            "tls": served.url,
            "h2": f"https://127.0.0.1:{multiplexed}/",
        }
        yield {name: _record(browser, address, work / f"{name}.har", served.log) for name, address in addresses.items()}


def _record(browser: Browser, address: str, path: Path, log: Path) -> Recorded:
    """Record a load whose log has every object whole: on a busy machine the recorder or the browser may lose some."""
    return eventually(lambda: _record_completely(browser, address, path, log))


def _record_completely(browser: Browser, address: str, path: Path, log: Path) -> Recorded | None:
    before = len(log.read_text().splitlines())
    with browser.new_context(ignore_https_errors=True, record_har_path=path, record_har_content="omit") as context:
        context.set_default_timeout(patience_ms())
        page, requests = context.new_page(), list[Request]()
        page.on("request", lambda request: requests.append(request))  # noqa: PLW0108 -- it wraps no method of a list
        page.goto(f"{address}page.html", wait_until="networkidle")
        for request in requests:
            if request.response() is None:  # a browser drops requests when a network device of this host comes or goes
                return None
            request.sizes()  # at the load event the recorder may still wait to hear that they are over
    served = eventually(lambda: _lines_since(log, before))
    entries = json.loads(path.read_text(encoding="utf-8"))["log"]["entries"]
    bodies = {urlsplit(each["request"]["url"]).path.strip("/"): each["response"]["bodySize"] for each in entries}
    is_whole = all(bodies.get(name, 0) > size - HEAD_BYTES for name, size in SIZES.items())
    return Recorded(path, frozenset(line.split()[0] for line in served)) if is_whole else None


def _png(size_bytes: int) -> bytes:
    """Return an image of one pixel, and bytes that do not compress: a browser drops what it cannot decode half-way."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel = chunk(b"IDAT", compress(bytes(2))) + chunk(b"IEND", b"")
    padding_bytes = size_bytes - len(head) - len(pixel) - len(chunk(b"raNd", b""))
    return head + chunk(b"raNd", Random(size_bytes).randbytes(padding_bytes)) + pixel


def _lines_since(log: Path, before: int) -> list[str]:
    """Return what the server logged of a load, once it has logged all of it; it does so after its last byte."""
    lines = log.read_text().splitlines()[before:]
    return lines if len(lines) > len(SIZES) else []


@pytest.mark.parametrize(
    ("name", "version", "encryption"),
    [("http", "HTTP/1.1", EncryptionClass.PLAIN), ("tls", "HTTP/1.1", EncryptionClass.ENCRYPTED),
     ("h2", "HTTP/2", EncryptionClass.ENCRYPTED)],
)  # fmt: skip
def test_browser_log_matches_what_the_server_sent(recorded, name, version, encryption):
    page = recorded[name].analysed()
    assert page.objects == len(SIZES) + 1
    assert page.encryption is encryption
    assert {connection.http_version for connection in page.connections} == {version}
    assert page.wire_bytes == pytest.approx(sum(SIZES.values()), rel=0.05)
    assert page.caches == {"hit": len(SIZES) + 1}
    assert page.load_told
    assert 0 < page.idle_s < page.load_s
    assert 1 <= page.effective_concurrency <= len(page.connections)
    # This recorder names no connections, and records no handshake of those that were opened ahead of need.
    assert 1 <= len(page.connections) <= len(recorded[name].connections)
    assert (name == "h2") == (len(page.connections) == 1)
    assert (name == "h2") == (page.effective_concurrency == 1)


def test_logs_go_from_the_command_line_to_the_page(
    recorded: dict[str, Recorded], page: Page, parts: Container, database_url: str, api: str, tmp_path: Path
) -> None:
    tenant = new_tenant(parts, database_url)
    _signed_in(page, parts, tenant)
    to_page(page, "Web connections")
    expect(page.get_by_role("heading", name="No page loads yet")).to_be_visible()

    env = environment(tmp_path, TRADEWIND_URL=api, TRADEWIND_KEY=tenant.secret)
    logs = [str(each.path) for each in recorded.values()]
    for _ in range(2):  # the same logs twice are kept once
        uploaded = run("logs", "upload", *logs, "--rtt", "60ms", "--bandwidth", "20Mbps", "--json", env=env)
        assert uploaded.code == 0, uploaded.error
    kept = [each["pages"][0] for each in uploaded.document["hars"]]
    here = run("connections", "analyse", logs[2], "--rtt", "60ms", "--bandwidth", "20Mbps", "--json", env=env)
    assert here.document["pages"] == [kept[2] | {"id": None}]  # what the agent works out alone
    assert "initial_window" in {each["kind"] for each in kept[2]["advice"]}

    page.reload()
    charts = page.locator(".chart").count()
    assert charts in (4, 5), "first objects have a chart where one came within so many round trips of this machine"
    expect(page.locator(".chart svg")).to_have_count(charts)
    expect(page.locator("th.origin a")).to_have_count(3)
    expect(page.get_by_text("A page", exact=True)).to_have_count(0)  # its title did not leave the machine
    found = offences(page)
    page.locator("th.origin a").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What to change")).to_be_visible()
    expect(page.get_by_text("Begin with a window of")).to_be_visible()
    found += offences(page)
    page.set_viewport_size(SMALL)
    for address in ("/admin/connections", f"/admin/connections/{kept[0]['id']}"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= SMALL["width"]
    assert found == []


def _signed_in(page: Page, parts: Container, tenant: Tenant) -> None:
    login = f"wendy-{uuid4()}"
    with parts.store.unit_of_work(tenant.id) as uow:
        first = add_user(login, ROLES, passwords=parts.passwords, uow=uow, clock=parts.clock)[1]
    sign_in(page, login, first)
    choose_password(page, first)
