"""The smallest form of every benchmark, started as `./run bench NAME --smoke` starts it.

Nothing is asserted of figures or of time: that all of a benchmark's own code still runs, its baseline included, and
ends with a report.
"""

import fcntl
import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from benchmarks.s3.gateway import NoGateway, find_gateway
from benchmarks.support.report import ROOT
from benchmarks.testbed.errors import CannotEmulate
from benchmarks.testbed.permissions import require_permission
from tests.integration.transport.conftest import TESTS, require_installable

pytestmark = pytest.mark.long


def list_benchmarks() -> tuple[str, ...]:
    """Return the benchmarks; that of object stores where its gateway is installed, which takes minutes to compile."""
    names = tuple(runpy.run_path(str(ROOT / "run"))["find_benchmarks"]())
    try:
        find_gateway()
    except NoGateway:
        return tuple(name for name in names if name != "s3")
    return names


NAMES = list_benchmarks()
EMULATED = {"papers", "mobile", "s3", "scale", "testbed", "transport", "tuning", "wan"}
LOADED_BY_WRK = {"api", "scale"}
FOLDER = ROOT / "var" / "bench"


def require(name: str) -> None:
    """Skip the test, and say why, where this machine lacks what a benchmark needs."""
    if name in LOADED_BY_WRK and shutil.which("wrk") is None:
        pytest.skip("there is no wrk; as root: infra/install-test-tools")
    if name in EMULATED:
        try:
            require_permission()
        except CannotEmulate as reason:
            pytest.skip(str(reason))


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a benchmark that may run here now."""
    require(request.param)
    with ExitStack() as held:
        if request.param == "transport":  # which puts FLD_TCP into the kernel, as tests do that wait for one another
            require_installable()
            fcntl.flock(held.enter_context(TESTS.open("a")), fcntl.LOCK_EX)
        yield request.param


def test_smallest_form_runs_and_writes_a_report_of_its_own(name: str) -> None:
    record = FOLDER / f"{name}.json"
    before = record.read_bytes() if record.exists() else None
    started_at = datetime.now(UTC)

    command = [sys.executable, "-P", "-m", "benchmarks.supervisor", name, "--smoke"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5_000:]

    report = json.loads((FOLDER / f"{name}-smoke.json").read_text(encoding="utf-8"))
    assert (report["name"], report["smoke"], report["quick"]) == (name, True, True)
    assert datetime.fromisoformat(report["started_at"]) >= started_at
    assert report["results"]
    assert all("case" in each for each in report["results"])
    assert report["summary"]
    assert (record.read_bytes() if record.exists() else None) == before
