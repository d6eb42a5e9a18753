"""Every kind of fault by every way of moving files: nothing wrong is kept, and the outcome says what is missing.

A row is a fault, a column a way and a server. A copy has to bring every file through what passes, and has to name the
file that alone cannot be moved; a wrapped tool has to succeed wherever it succeeds by itself.
"""

import random
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conditions import stretched
from tests.integration.engine.conftest import make_work_folder
from tests.integration.engine.matrix.faults import (
    ODD_NAME,
    Changing,
    CookieNeeded,
    Cut,
    Dropped,
    FewAtOnce,
    FewConnections,
    HeadHangs,
    Late,
    NoRanges,
    OddTags,
    OneAnswer,
    Packed,
    RateLimited,
    Refused,
    RefusedRanges,
    ShiftedRanges,
    SignedOnce,
    SilentOnce,
    SomeFail,
    Truncated,
    turn,
)
from tests.integration.engine.matrix.front import Fault, Front, fronting
from tests.integration.engine.servers.web_servers import APACHE_MODULES, apache, caddy, lighttpd, nginx
from tests.integration.engine.transfers import options
from tests.integration.movers.conftest import drive
from tests.integration.movers.driving import Driver, recommending
from tests.integration.serve_files.serving import serving
from tradewind.parameters import Parameters
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine.http.retry import RetryPolicy
from tradewind_agent.engine.origin.book import OriginBook

__all__ = ["drive"]

SIZES = [0, 1, 3_000, 3_000, 3_000, 4_000, 20_000, 250_000, 700_000]
MANY = Parameters(concurrency=6, parallelism=2, pipelining=4)
"""More than most of these servers permit."""


@dataclass(frozen=True)
class Row:
    """A kind of fault.

    ``fails`` : the odd file cannot be moved. ``changes`` : it may arrive changed.
    """

    name: str
    make: Callable[[], Fault]
    fails: bool = False
    changes: bool = False


TOO_MANY = ("403 Forbidden", "421 Misdirected Request", "429 Too Many Requests", "503 Busy", "509 Bandwidth Limit")
PASSING = ("500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout")

EITHER_WAY = [
    Row("nothing", Fault),
    *(Row(f"few at once, {each[:3]}", lambda each=each: FewAtOnce(each)) for each in TOO_MANY),
    Row("few connections", FewConnections),
    *(Row(f"some {each[:3]}", lambda each=each: SomeFail(each)) for each in PASSING),
    Row("Retry-After in seconds", lambda: RateLimited(as_date=False)),
    Row("Retry-After as a date", lambda: RateLimited(as_date=True)),
    Row("dropped before", lambda: Dropped(is_done=False)),
    Row("late", Late),
    Row("silent once", SilentOnce),
    Row("HEAD hangs", HeadHangs),
    Row("closes after each", OneAnswer),
]
OF_DOWNLOADS = [
    Row("cut", Cut),
    Row("silent in a body", lambda: Cut(is_silent=True)),
    Row("no ranges", NoRanges),
    Row("ranges refused", RefusedRanges),
    Row("ranges shifted", ShiftedRanges),
    Row("weak tags", lambda: OddTags('W/"one"')),
    Row("a tag an answer", lambda: OddTags('"{number}"')),
    Row("packed unasked", Packed, fails=True),
    Row("truncated", Truncated, fails=True),
    Row("missing", lambda: Refused("404 Not Found"), fails=True),
    Row("forbidden", lambda: Refused("403 Forbidden"), fails=True),
    Row("broken", lambda: Refused("500 Internal Server Error"), fails=True),
    Row("good once", SignedOnce),
    Row("cookie", CookieNeeded),
    Row("changing", Changing, changes=True),
]
OF_UPLOADS = [
    Row("dropped after", lambda: Dropped(is_done=True)),
    Row("no room", lambda: Refused("507 Insufficient Storage"), fails=True),
    Row("too large", lambda: Refused("413 Content Too Large"), fails=True),
    Row("may not", lambda: Refused("403 Forbidden"), fails=True),
]


@pytest.fixture(scope="module")
def moved(world_readable: Path) -> Path:
    """The files that are moved: some of one size, one large enough for several streams."""
    folder = world_readable / "moved"
    folder.mkdir()
    draw = random.Random(11)
    for number, size in enumerate(SIZES):
        (folder / f"f{number}.bin").write_bytes(draw.randbytes(size))
    (folder / ODD_NAME).write_bytes(draw.randbytes(3_000))
    return folder


@pytest.fixture(scope="module", params=[nginx, apache, lighttpd, caddy], ids=lambda serve: serve.__name__)
def origin(request: pytest.FixtureRequest, moved: Path, world_readable: Path) -> Iterator[int]:
    """The port of each web server in turn."""
    with request.param(moved, make_work_folder(world_readable)) as server:
        yield server.port


@pytest.fixture(scope="module")
def plain_origin(moved: Path, world_readable: Path) -> Iterator[int]:
    """The port of one web server."""
    with nginx(moved, make_work_folder(world_readable)) as server:
        yield server.port


@dataclass(frozen=True)
class Receiver:
    port: int
    folder: Path


@contextmanager
def own_receiver(work: Path) -> Iterator[Receiver]:
    """A `serve-files` that takes uploads."""
    (work / "served").mkdir()
    with serving(work / "served", writable=True) as server:
        yield Receiver(server.port, work / "served")


@contextmanager
def nginx_dav(work: Path) -> Iterator[Receiver]:
    (work / "served").mkdir()
    with nginx(work / "served", work, server="dav_methods PUT MKCOL; client_max_body_size 0;") as server:
        yield Receiver(server.port, work / "served")


@contextmanager
def apache_dav(work: Path) -> Iterator[Receiver]:
    (work / "served").mkdir()
    for folder in (work, work / "served"):
        folder.chmod(0o777)
    modules = "\n".join(f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so" for name in ("dav", "dav_fs"))
    rules = f"{modules}\nDavLockDB {work}/locks\n<Directory {work}/served>\nDav On\n</Directory>"
    with apache(work / "served", work, server=rules) as server:
        yield Receiver(server.port, work / "served")


@pytest.fixture(params=[own_receiver, nginx_dav, apache_dav], ids=["serve-files", "nginx", "apache"])
def receiver(request: pytest.FixtureRequest, world_readable: Path) -> Iterator[Receiver]:
    with request.param(make_work_folder(world_readable)) as running:
        yield running


def copy(source: str, destination: str, state: Path) -> CopyReport:
    """Copy as a user would who set more connections by hand than the server likes, and has no time to wait."""
    engine = options(
        retry=RetryPolicy(first_wait_s=0.01, longest_wait_s=0.2),
        origins=OriginBook(state / "origins.json"),
        idle_timeout_s=stretched(2.0),
    )
    return copy_files([source], destination, options=CopyOptions(by_hand=MANY, tune=False, engine=engine))


def read(folder: Path) -> dict[str, bytes]:
    """Content by name; what is kept of a part goes without its name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def expect_all(row: Row, report: CopyReport, stored: Mapping[str, bytes], expected: Mapping[str, bytes]) -> None:
    """Every file is there as it was, but for the one of which the row says otherwise, and that one is named."""
    failures = {each.file.rpartition("/")[2]: each.reason for each in report.failures}
    assert list(failures) == ([ODD_NAME] if row.fails else []), failures
    assert report.succeeded is not row.fails
    others = {name: content for name, content in expected.items() if name != ODD_NAME}
    assert {name: content for name, content in stored.items() if name != ODD_NAME} == others
    odd = expected[ODD_NAME]
    assert stored.get(ODD_NAME) in ([None] if row.fails else [odd, turn(odd)] if row.changes else [odd])


def by_name(row: Row) -> str:
    return row.name


@pytest.mark.parametrize("row", EITHER_WAY + OF_DOWNLOADS, ids=by_name)
def test_a_download(row: Row, origin: int, moved: Path, tmp_path: Path):
    with fronting(origin, row.make()) as front:
        report = copy(front.url, str(tmp_path / "copy"), tmp_path)
    expect_all(row, report, read(tmp_path / "copy"), read(moved))


@pytest.mark.parametrize("row", EITHER_WAY + OF_UPLOADS, ids=by_name)
def test_an_upload(row: Row, receiver: Receiver, moved: Path, tmp_path: Path):
    with fronting(receiver.port, row.make()) as front:
        report = copy(str(moved), front.url, tmp_path)
    expect_all(row, report, read(receiver.folder), read(moved))


@pytest.mark.parametrize("row", EITHER_WAY + OF_DOWNLOADS, ids=by_name)
def test_a_wrapped_tool(row: Row, plain_origin: int, moved: Path, tmp_path: Path, drive: Driver):
    expected = read(moved)
    words = ["curl", "--silent", "--fail", "--location", "--max-time", "1", "--create-dirs", "--remote-name-all"]

    def make_line(front: Front, folder: Path) -> list[object]:
        return [*words, "--output-dir", folder, *(front.url + name for name in expected)]

    with fronting(plain_origin, row.make()) as front:
        alone = subprocess.run([str(word) for word in make_line(front, tmp_path / "alone")], check=False)
    with fronting(plain_origin, row.make()) as front:
        report = drive.run(drive.prepare(*make_line(front, tmp_path / "copy"), service=recommending(8)))
    by_itself, wrapped = read(tmp_path / "alone"), read(tmp_path / "copy")
    right = [expected, expected | {ODD_NAME: turn(expected[ODD_NAME])}] if row.changes else [expected]
    if alone.returncode == 0 and by_itself in right:  # curl's status is that of its last file
        assert report.exit_code == 0
    if report.exit_code == 0:
        assert wrapped in [*right, by_itself]
