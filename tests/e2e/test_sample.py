"""``./run serve --sample``: every page has something true to show, and it is said to be sample data."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from benchmarks.demo.stack import run_process
from benchmarks.sample import fill, rows, serve
from benchmarks.sample.service_parts import OpenParts, open_parts_of_service
from benchmarks.support.report import ROOT
from services.bootstrap import Container, build_container
from services.settings import Settings
from tests.compose_stack import ComposeStack
from tests.integration.agent.support.command import environment
from tests.ports import free_port
from tradewind.errors import InvalidValue

PYTHON = (sys.executable, "-P", "-m")
BLOCK_OF_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK_OF_OUTPUT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d[\d.,:-]*(?: (?:[kMGT]?bit/s|[kMGT]?B|[mk]?J|m?s))?")
PAGES_WITH_COMMANDS = sorted(
    page for page in (ROOT / "docs").rglob("*.md") if BLOCK_OF_COMMANDS.search(page.read_text(encoding="utf-8"))
)


@dataclass(frozen=True)
class Served:
    address: str
    key: str
    password: str | None
    """Of the first sign-in; None where nobody printed one."""

    behind: OpenParts

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.address, headers={"Authorization": f"Bearer {self.key}"}, timeout=60)


def filled(stack: ComposeStack) -> Served:
    """A tenant of its own in a stack of containers, filled as ``serve --sample`` fills its only one."""
    name = f"sample {uuid4()}"
    key = stack.new_key(tenant=name)

    @contextmanager
    def behind() -> Iterator[tuple[Container, UUID]]:
        database_url = stack.url_from_here("database_url", "postgres")
        with build_container(database_url=database_url, redis_url=stack.url_from_here("redis_url", "redis")) as parts:
            yield parts, parts.store.registry.find_tenant(name)

    served = Served(stack.address, key, None, behind)
    with served.client() as client:
        fill.fill(client, behind, timedelta(days=rows.count_shift_days()))
    return served


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if (stack := ComposeStack.running()) is not None:
        yield filled(stack)
        return
    folder = tmp_path_factory.mktemp("sample")
    environment = {"TRADEWIND_DATA": str(folder / "data"), "TRADEWIND_PORT": str(free_port())}
    with run_process("sample", (*PYTHON, "benchmarks.sample.serve"), logs=folder, environment=environment) as service:
        address = service.wait_for_line(r"API.*?(http://\S+)")[1]
        key = service.wait_for_line(r"agent key: (\S+)")[1]
        password = service.wait_for_line(r"password (\S+)")[1]
        service.wait_for_line(r"sample: ready")
        yield Served(address, key, password, partial(open_parts_of_service, folder / "data" / "sample"))


def test_sample_recordings_are_uploaded_learned_priced_and_completed(sample: Served) -> None:
    with sample.client() as client:
        links = client.get("/v1/links").json()
        releases = client.get("/v1/releases").json()
        (book,) = client.get("/v1/price-books").json()
        transfers = client.get("/v1/transfers").json()
    assert len(links) >= 5
    assert all(each[end].startswith("sample-") for each in links for end in ("source", "destination"))
    assert releases[-1]["published_at"]
    assert book["in_force"]
    assert book["prices"]
    assert {each["agreement_kept"] for each in transfers} >= {True}
    assert all(each["journalled_sequence"] >= 3 for each in transfers)


def test_recorded_transfers_are_billed_at_the_time_when_they_ran(sample: Served) -> None:
    with sample.client() as client:
        (book,) = client.get("/v1/price-books").json()
        begin = datetime.fromisoformat(book["effective_from"])
        statements = client.get("/v1/usage-statements", params={"month": f"{begin:%Y-%m}"}).json()
    today = rows.count_shift_days()
    assert begin in {begin_of_all(today), begin_of_all(today - 1)}, "the day may have ended since it was filled"
    billed = {each["key"]: line for each in statements for line in each["billed"]}
    movers = {key for key in billed if key.startswith("mover at sample-")}
    assert len(movers) >= 3
    assert billed.keys() - movers <= {"this machine"}, "whose tuned transfers asked for themselves"
    assert sum(line["transfers"] for line in billed.values()) > 100
    assert all(float(line["amount"]) > 0 for line in billed.values())


def begin_of_all(shift_days: int) -> datetime:
    return min(datetime.fromisoformat(row["started_at"]) for row in rows.list_recorded(timedelta(days=shift_days)))


def test_filling_again_changes_nothing(sample: Served, capsys: pytest.CaptureFixture[str]) -> None:
    paths = ("/v1/price-books", "/v1/limits", "/v1/transfers")
    with sample.client() as client:
        before = [client.get(path).json() for path in paths]
        links = [link["id"] for link in client.get("/v1/links").json()]
        (book,) = before[0]
        fill.fill(client, sample.behind, datetime.fromisoformat(book["effective_from"]) - begin_of_all(0))
        assert [client.get(path).json() for path in paths] == before
        assert [link["id"] for link in client.get("/v1/links").json()] == links
    (told,) = capsys.readouterr().out.splitlines()
    assert told.startswith("sample: ready: "), "nothing was uploaded, priced or quoted"


@pytest.mark.skipif(ComposeStack.running() is not None, reason="it is ./run serve --sample that says so")
def test_pages_say_that_it_is_sample_data(sample: Served) -> None:
    with httpx.Client(base_url=sample.address, timeout=60) as visitor:
        visitor.post("/admin/sign-in", data={"login": "admin", "password": sample.password})
        assert (
            "Sample data: transfers that the project recorded on emulated paths" in visitor.get("/admin/account").text
        )


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.stem)
def test_every_command_of_a_page_works(page: Path, sample: Served, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = "\n".join(BLOCK_OF_COMMANDS.findall(text))
    assert ("http://127.0.0.1:8080" in commands) == ("tw_…" in commands), "a page that logs in has both"
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    commands = commands.replace("http://127.0.0.1:8080", sample.address).replace("tw_…", sample.key)
    commands = commands.replace(":8090", f":{(port := free_port())}").replace("--port 8090", f"--port {port}")
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", f"trap 'kill $(jobs -p) 2>&- || true' EXIT\n{commands}"],
        cwd=tmp_path,
        env=environment(
            tmp_path, PATH=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])), **trust()
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    shown = [line for block in BLOCK_OF_OUTPUT.findall(text) for line in block.splitlines()]
    printed = [without_numbers(line) for line in done.stdout.splitlines()]
    missing = [line for line in shown if not any(pattern_of(line).fullmatch(each) for each in printed)]
    assert missing == [], done.stdout[-4000:]


def without_numbers(line: str) -> str:
    """``line`` with each number, and the unit after it, as one sign: they differ from run to run."""
    return " ".join(NUMBER.sub("#", line).split())


def pattern_of(line: str) -> re.Pattern[str]:
    """What a line of a page stands for: the same words with any numbers, and anything where it has an ellipsis."""
    return re.compile(".*".join(re.escape(part) for part in without_numbers(line).split("…")))


def trust() -> dict[str, str]:
    """What makes programs believe the certificate of a stack of containers."""
    stack = ComposeStack.running()
    return {} if stack is None else {"SSL_CERT_FILE": str(stack.authority)}


def test_sample_times_are_shifted_by_full_days_so_that_the_newest_is_yesterday() -> None:
    newest = max(datetime.fromisoformat(row["ended_at"]) for row in rows.list_rows(timedelta()))
    later = newest + timedelta(days=40)
    days = rows.count_shift_days(later)
    moved = max(datetime.fromisoformat(row["ended_at"]) for row in rows.list_rows(timedelta(days=days)))
    assert (later.date() - moved.date()).days == 1
    assert moved.time() == newest.time()
    assert rows.count_shift_days(newest.astimezone(UTC)) == 0


def test_the_sample_never_goes_into_databases_that_are_given(tmp_path: Path) -> None:
    environment = {"DATABASE_URL": "postgresql://tradewind_app:secret@db/tradewind"}
    settings = Settings.from_environment(environment, data_folder=tmp_path)
    with pytest.raises(InvalidValue, match="databases of its own") as refused:
        serve.make_own_folder(settings)
    assert "secret" not in str(refused.value)
