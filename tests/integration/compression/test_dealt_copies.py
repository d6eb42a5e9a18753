"""``copy --compress auto``: what packs is packed, several files at once, and the rest goes by the engine."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import psycopg
import pytest

from tests.integration.agent.support.command import Outcome, environment, run
from tests.integration.engine.servers.web_servers import nginx
from tests.integration.serve_files.serving import serving
from tests.stack import Tenant
from tradewind.compression.codecs import PROBE, Codec, CodecSetting
from tradewind.compression.model import Speeds
from tradewind.wire.compression import NewObservations
from tradewind.wire.records import parse_row
from tradewind_agent.compression import packing, packing_choice
from tradewind_agent.compression.observations import observe_samples
from tradewind_agent.compression.packing_choice import choose_packing
from tradewind_agent.copy.listing import list_files
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.serve import Server
from tradewind_agent.service.client import Client

LINES = [b"%d,%d,%.3f\n" % (row, row * row % 977, (row % 50) / 7) for row in range(60_000)]
NOISE = random.Random(1).randbytes(400_000)
TABLES, NOISES = 5, 2
PATIENCE_S = 60.0
COPIES = 5
SLOW = ("--bandwidth", "8Mbps", "--rtt", "1ms")
SLOWER = ("--bandwidth", "10kbps", "--rtt", "1ms")
"""Told of a path, of which a long transfer is promised: time enough to try codecs on a sample."""


def table(number: int) -> bytes:
    return b"".join(LINES[number:])


def fill(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(TABLES):
        (folder / f"{number}.csv").write_bytes(table(number))
    for number in range(NOISES):
        (folder / f"{number}.bin").write_bytes(NOISE[number:])
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("served")
    fill(folder / "data")
    return folder


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with serving(root, writable=True) as running:
        yield running


def copied(home: Path, *arguments: str, **more: str) -> tuple[Outcome, dict[str, Any]]:
    """The command's outcome, and its records by their mover."""
    env = environment(home, TRADEWIND_SPOOL=str(home / "spool"), **more)
    done = run("copy", "--compress", "auto", "--json", *arguments, env=env)
    assert done.code == 0, done.err
    rows = [row for segment in (home / "spool").glob("*.ndjson") for row in segment.read_bytes().splitlines()]
    records = [parse_row(row).to_record() for row in rows]
    return done, {each.mover.name: each for each in records if each.chunk == "whole"}


def assert_same(one: Path, other: Path) -> None:
    names = sorted(each.name for each in one.iterdir())
    assert [each.name for each in sorted(other.iterdir())] == names
    assert all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def observed(home: Path) -> list[dict[str, Any]]:
    files = (home / "spool" / "observations").glob("*.json")
    return [seen for file in files for seen in json.loads(file.read_bytes())["observations"]]


def assert_dealt(done: Outcome, records: dict[str, Any]) -> None:
    (record,) = records.values()
    assert (record.mover.name, record.outcome.files_done) == ("tradewind-packed", TABLES + NOISES)
    planned = done.document["plan"]["parameters"]
    assert planned["concurrency"] * planned["parallelism"] > 2
    assert record.parameters.codec not in (None, "raw")
    assert done.document["used"]["raw"] == sum(len(NOISE) - number for number in range(NOISES))
    assert done.document["ratio"] > 1.5


def test_upload_packs_compressible_files_and_sends_others_by_engine(server: Server, root: Path, tmp_path: Path) -> None:
    folder = fill(tmp_path / "data")
    done, records = copied(tmp_path, *SLOWER, str(folder), f"{server.url}up/")
    assert_dealt(done, records)
    assert_same(root / "up", folder)
    sampled = [seen for seen in observed(tmp_path) if seen["file_bytes"] < 500_000 and seen["codec"] != PROBE.codec]
    assert sampled, "what codecs made of the sample is history, too"


@pytest.mark.parametrize("codec", ["auto", "gzip:1"])
@pytest.mark.parametrize("path", [("--load", "1", "--rtt", "1ms"), ("--rtt", "1201s")])
def test_a_path_that_is_all_taken_or_endlessly_long_is_one_too(
    server: Server, root: Path, tmp_path: Path, codec: str, path: tuple[str, ...]
) -> None:
    asked = ("copy", "--compress", codec, "--bandwidth", "8Mbps", *path, "--json")
    done = run(*asked, f"{server.url}data/", str(tmp_path / "down"), env=environment(tmp_path))
    assert done.code == 0, done.err
    assert_same(root / "data", tmp_path / "down")


def test_download_requests_samples_from_server_and_extends_history(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "MAX_LOOK_WAIT_S", PATIENCE_S)  # a busy server gives samples up
    sampled: list[dict[str, Any]] = []
    for attempt in range(COPIES):  # a server that packs for others gives no sample, or tries no codecs on it
        home = tmp_path / f"{attempt}"
        home.mkdir()
        done, records = copied(home, *SLOWER, f"{server.url}data/", str(home / "down"))
        assert_dealt(done, records)
        assert_same(root / "data", home / "down")
        seen = observed(home)
        sampled, whole = ([each for each in seen if (each["file_bytes"] < 500_000) is few] for few in (True, False))
        assert {each["file_bytes"] for each in whole} == {len(table(number)) for number in range(TABLES)}
        assert all(each["speeds"]["ratio"] > 2 and each["kind"] == "table" for each in seen)
        if sampled:
            return
    pytest.fail("what codecs made of the server's sample is history, too")


def test_engine_sends_all_files_on_path_faster_than_every_codec(server: Server, tmp_path: Path) -> None:
    fast = ("--bandwidth", "200Gbps", "--rtt", "0.1ms")
    done, records = copied(tmp_path, *fast, f"{server.url}data/", str(tmp_path / "down"))
    assert set(records) == {"tradewind"}
    assert set(done.document["used"]) == {"raw"}
    assert "as they are: no codec is expected to be faster" in done.err


def test_one_service_answer_has_setting_and_codec_advice_from_tenant_history(
    server: Server, root: Path, tmp_path: Path, api: str, tenant: Tenant
) -> None:
    folder = fill(tmp_path / "data")
    listing = list_files([str(folder)], f"{server.url}asked/", options=EngineOptions(durable=False))
    options = CopyOptions(bandwidth_bps=8e6, rtt_s=0.001, source="here", destination="there")
    lz4 = CodecSetting(Codec.LZ4, 9)
    with Client(api, tenant.secret) as client:
        before = choose_packing(listing, options, client)
        first = next(iter(before.advised.values())).answer
        assert first is not None
        assert first.best.codec is not Codec.LZ4
        astounding = observe_samples(
            [replace(each, tried={lz4: Speeds(400.0, 4e9, 1e10)}) for each in before.looked], uuid4()
        )
        for _ in range(12):
            again = tuple(each.model_copy(update={"id": uuid4()}) for each in astounding)
            client.compression.add_observations(NewObservations(observations=again))
        after = choose_packing(listing, options, client)
    assert {job.source.suffix for job in after.advised} == {".csv"}
    assert {(told.answer.best.codec, told.answer.best.level) for told in after.advised.values()} == {(lz4)}
    assert "of this tenant" in next(iter(after.advised.values())).answer.source
    assert after.prepared.plan.answer is not None


@pytest.mark.parametrize(("directives", "packs"), [("gzip on; gzip_types *;", True), ("", False)])
def test_files_encoded_by_web_server_come_packed_and_others_by_engine(
    tmp_path: Path, directives: str, packs: bool
) -> None:
    served = fill(tmp_path / "data")
    (tmp_path / "work").mkdir()
    with nginx(served, tmp_path / "work", server=directives) as web:
        done, records = copied(tmp_path, *SLOW, web.url, str(tmp_path / "down"))
    assert_same(served, tmp_path / "down")
    assert set(records) == ({"tradewind-packed"} if packs else {"tradewind"})
    assert (done.document["ratio"] > 1.3) is packs


def test_mixed_copy_is_logged_once_with_the_service_and_a_download_adds_to_the_tenants_history(
    server: Server, tmp_path: Path, api: str, tenant: Tenant, admin_database_url: str
) -> None:
    known = {"TRADEWIND_URL": api, "TRADEWIND_KEY": tenant.secret}
    done, _ = copied(tmp_path, *SLOW, f"{server.url}data/", str(tmp_path / "down"), **known)
    assert done.document["log"] == "uploaded"
    with psycopg.connect(admin_database_url) as admin:
        movers = admin.execute("SELECT DISTINCT mover FROM links WHERE tenant_id = %s", [tenant.id]).fetchall()
        seen = admin.execute(
            "SELECT count(*), count(DISTINCT codec) FROM compression_observations WHERE tenant_id = %s", [tenant.id]
        ).fetchone()
    assert {mover for (mover,) in movers} == {"tradewind-packed"}
    assert seen is not None
    assert seen[0] >= TABLES


def test_short_copy_of_a_file_is_not_looked_at_before_and_still_packed(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_bytes(table(0))
    monkeypatch.setattr(packing_choice, "probe_classes", Mock(side_effect=AssertionError("it is looked at")))
    listing = list_files([str(tmp_path / "a.csv")], f"{server.url}short.csv", options=EngineOptions(durable=False))
    chosen = choose_packing(listing, CopyOptions(bandwidth_bps=8e6), None)
    assert tuple(chosen.advised) == listing.jobs
    assert chosen.line_bps is not None
    done, records = copied(tmp_path, *SLOW, str(tmp_path / "a.csv"), f"{server.url}short.csv")
    assert (root / "short.csv").read_bytes() == table(0)
    assert set(records) == {"tradewind-packed"}
    assert done.document["ratio"] > 1.3


def test_long_copy_of_a_file_is_looked_at_before(server: Server, tmp_path: Path) -> None:
    listing = list_files([f"{server.url}data/0.csv"], str(tmp_path / "a.csv"), options=EngineOptions(durable=False))
    chosen = choose_packing(listing, CopyOptions(bandwidth_bps=1e5), None)
    assert [looked.sample is not None for looked in chosen.looked] == [True]


def test_short_copy_to_a_server_that_takes_no_packed_files_sends_them_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(table(0))
    for folder in ("served", "work"):
        (tmp_path / folder).mkdir()
    with nginx(tmp_path / "served", tmp_path / "work", server="dav_methods PUT; client_max_body_size 0;") as web:
        done, _ = copied(tmp_path, *SLOW, str(tmp_path / "a.csv"), f"{web.url}a.csv")
    assert (tmp_path / "served" / "a.csv").read_bytes() == table(0)
    assert set(done.document["used"]) == {"raw"}
