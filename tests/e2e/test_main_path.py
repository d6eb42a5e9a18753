"""The main job with the real processes: the service, an origin, an emulated path and the agent's command line."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from benchmarks.demo import stack
from benchmarks.demo.files import PAGES, write_folder
from tests.compose_stack import ComposeStack
from tests.conditions import eventually
from tests.open_folders import open_folder
from tradewind.parameters import Parameters
from tradewind.transfer import TransferRecord
from tradewind.wire.releases import Release
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import copy_files
from tradewind_agent.service.client import Client

SETTINGS = [(cc, pp) for cc in (1, 2, 4, 8) for pp in (1, 2, 8)]
MOST_TURNS = 4
PATH = ("--rate", "80Mbps", "--rtt", "20ms", "--seed", "1")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with open_folder() as opened:
        yield opened


def service(folder: Path) -> AbstractContextManager[tuple[str, str]]:
    """The whole service and a key: processes of our own, or the stack that the run is about."""
    containers = ComposeStack.running()
    if containers is None:
        return stack.run_service(folder / "data", folder)
    return nullcontext((containers.address, containers.new_key()))


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[dict[str, Any]]:
    """The whole service with an agent key, and a folder of files behind an emulated path."""
    served = folder / "served"
    write_folder(served / "pages", {PAGES: 24}, random.Random(3))
    with (
        service(folder) as (address, key),
        stack.run_origin(served, folder) as origin,
        stack.run_emulated_path(origin, PATH, folder) as path,
        Client(address, key) as client,
    ):
        yield {"address": address, "key": key, "client": client, "folder": folder, "served": served, "port": path.port}


def tradewind(running: dict[str, Any], *words: str, expect: int = 0) -> dict[str, Any]:
    """Run the agent's command line; the document that it prints."""
    environment = os.environ | {
        "TRADEWIND_URL": running["address"],
        "TRADEWIND_KEY": running["key"],
        "TRADEWIND_SPOOL": str(running["folder"] / "spool"),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "tradewind_agent", *words, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == expect, ran.stderr
    return json.loads(ran.stdout)


def history(running: dict[str, Any], source: str, turn: int) -> list[TransferRecord]:
    """Records of real transfers, each setting twice."""
    records: list[TransferRecord] = []
    for number, (cc, pp) in enumerate(SETTINGS * 2):
        report = copy_files(
            [source],
            str(running["folder"] / f"history-{turn}-{number}"),
            options=CopyOptions(
                by_hand=Parameters(concurrency=cc, parallelism=1, pipelining=pp),
                source="origin",
                destination="agent",
                bandwidth_bps=80e6,
                rtt_s=0.02,
            ),
        )
        assert report.succeeded, report.format_line()
        records += report.records
    return records


def newer_release(client: Client, than: int) -> Release | None:
    return next((each for each in client.releases.page() if each.current and each.id > than), None)


def test_history_becomes_a_release_and_its_recommendation_is_used_by_a_real_transfer(running: dict[str, Any]) -> None:
    client: Client = running["client"]
    source = f"http://127.0.0.1:{running['port']}/pages/"
    uploaded = 0
    for turn in range(MOST_TURNS):  # on a busy machine little history may be too noisy to hold on held-out rows
        before = max((each.id for each in client.releases.page()), default=0)
        uploaded += client.upload_logs(history(running, source, turn)).accepted
        release = eventually(lambda before=before: newer_release(client, before))
        (link,) = client.inventory.links()
        if link.release is not None:
            break
    assert uploaded == len(SETTINGS) * 2 * (turn + 1)
    assert link.release == release.id, link.reason
    assert link.clusters == 1

    words = ("--source", "origin", "--destination", "agent", "--bandwidth", "80Mbps", "--rtt", "20ms")
    copied = tradewind(running, "copy", source, str(running["folder"] / "tuned"), *words)
    assert copied["plan"]["source"] == "release"
    assert copied["plan"]["release"] == release.id
    assert copied["parameters"]["concurrency"] * copied["parameters"]["pipelining"] > 1
    assert copied["log"] == "uploaded"
    received = {path.name: path.read_bytes() for path in (running["folder"] / "tuned").rglob("*") if path.is_file()}
    assert received == {path.name: path.read_bytes() for path in (running["served"] / "pages").iterdir()}
    eventually(lambda: client.inventory.links()[0].rows > uploaded)


def test_revoked_key_is_reported_in_one_line(running: dict[str, Any]) -> None:
    wrong = running | {"key": "tw_" + "x" * 43}
    ran = subprocess.run(
        [sys.executable, "-m", "tradewind_agent", "recommend", "a", "b", "--files", "3", "--bytes", "3MB"],
        env=os.environ | {"TRADEWIND_URL": wrong["address"], "TRADEWIND_KEY": wrong["key"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1
    assert len(ran.stderr.strip().splitlines()) == 1
    assert "tradewind login" in ran.stderr
