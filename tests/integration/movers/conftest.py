"""Files behind a slow nginx, and what a recommendation makes of a command line."""

from random import Random

import pytest

from tests.integration.engine.servers.web_servers import nginx
from tests.integration.movers.driving import Driver, gridftp
from tests.integration.movers.ssh_server import ssh_server
from tradewind_agent.history.spool import Spool

FILES, FILE_BYTES = 12, 100_000


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Small files, and one large enough for several streams."""
    folder = tmp_path_factory.mktemp("files")
    folder.chmod(0o755)
    random = Random(3)
    for number in range(FILES):
        (folder / f"f{number:02}").write_bytes(random.randbytes(FILE_BYTES))
    (folder / "large").mkdir()
    (folder / "large" / "one").write_bytes(random.randbytes(24_000_000))
    return folder


@pytest.fixture(scope="session")
def slow(files, tmp_path_factory):
    """A connection gets 50 kB/s (and the first second's at once), so that a file lasts long enough to be looked at.

    Below ``/fast/`` nothing is held back.
    """
    rules = f"limit_rate 50k; location /fast/ {{ alias {files}/; limit_rate 0; autoindex on; }}"
    with nginx(files, tmp_path_factory.mktemp("nginx"), server=rules) as server:
        yield server


@pytest.fixture(scope="session")
def grid(tmp_path_factory):
    with gridftp(tmp_path_factory.mktemp("gridftp")) as server:
        yield server


@pytest.fixture
def drive(tmp_path, monkeypatch):
    """A user with a spool and no configuration of any tool."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Driver(Spool(tmp_path / "spool", warn=lambda _: None))


@pytest.fixture(scope="session")
def quick(files, tmp_path_factory):
    """Each connection gets 4 MB/s: a large file lasts for seconds."""
    with nginx(files, tmp_path_factory.mktemp("nginx-quick"), server="limit_rate 4m;") as server:
        yield server


@pytest.fixture(scope="session")
def ssh(tmp_path_factory):
    with ssh_server(tmp_path_factory.mktemp("ssh")) as server:
        yield server
