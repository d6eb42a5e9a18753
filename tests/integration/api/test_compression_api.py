"""Advice on codecs over HTTP, and the history that agents add to."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.application.advice.compression import MAX_OF_A_KEY
from services.bootstrap import Container
from tests.integration.live_transfers import ENQUIRY
from tests.stack import Tenant, new_tenant

PROBE = {"ratio": 4.0, "compress_bps": 4e8, "decompress_bps": 1.6e9}
ASKED = {"file_bytes": 30_000_000, "bandwidth_bps": 4e6, "kind": "text", "cpu_class": "x86_64/a/2", "probe": PROBE}


def seen(codec: str, level: int, ratio: float, compress_bps: float, **changes: Any) -> dict[str, Any]:
    speeds = {"ratio": ratio, "compress_bps": compress_bps, "decompress_bps": 4 * compress_bps}
    told = {name: value for name, value in ASKED.items() if name != "bandwidth_bps"}
    return (
        told
        | {
            "id": str(uuid4()),
            "seen_at": datetime.now(UTC).isoformat(),
            "codec": codec,
            "level": level,
            "speeds": speeds,
        }
        | changes
    )


@pytest.fixture
def agent(api: str, tenant: Tenant) -> Iterator[httpx.Client]:
    with tenant.client(api, Scope.AGENT) as opened:
        yield opened


def advice(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    answer = client.post("/v1/compression/advise", json=ASKED | changes)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def add(client: httpx.Client, *observations: dict[str, Any]) -> int:
    answer = client.post("/v1/compression/observations", json={"observations": observations})
    assert answer.status_code == 201, answer.text
    kept: int = answer.json()["kept"]
    return kept


def test_advice_comes_from_the_packaged_measurements_until_there_is_a_history(agent: httpx.Client) -> None:
    told = advice(agent)
    assert told["best"]["mode"] == "piped"
    assert told["source"] == "a sample of the file and the packaged measurements"
    ranked = [each["throughput_bps"]["low"] for each in told["options"][1:]]
    assert ranked == sorted(ranked, reverse=True)
    assert told["best"]["throughput_bps"]["mean"] > 4e6


def test_observations_change_the_advice_of_their_tenant_alone(
    agent: httpx.Client, api: str, parts: Container, database_url: str
) -> None:
    before = advice(agent)["best"]
    astounding = [seen("lz4", 9, 40.0, 4e9) for _ in range(12)]
    assert add(agent, *astounding) == 12
    assert add(agent, *astounding) == 0  # sent again: each is stored once
    after = advice(agent)
    assert (after["best"]["codec"], after["best"]["level"]) == ("lz4", 9)
    assert "12 observations of this tenant" in after["source"]
    once_more = seen("lz4", 9, 40.0, 4e9)
    assert add(agent, once_more) == 1
    assert "13 observations of this tenant" in advice(agent)["source"]
    with new_tenant(parts, database_url).client(api, Scope.AGENT) as stranger:
        assert advice(stranger)["best"] == before


def test_newest_observations_of_a_setting_and_machine_are_retained(
    agent: httpx.Client, tenant: Tenant, admin_database_url: str
) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    told = [
        seen("xz", 1, 5.0 + n, 1e8, seen_at=(begin + timedelta(minutes=n)).isoformat()) for n in range(MAX_OF_A_KEY + 3)
    ]
    add(agent, *told)
    with psycopg.connect(admin_database_url) as admin:
        found = admin.execute(
            "SELECT count(*), min(ratio) FROM compression_observations WHERE tenant_id = %s", [tenant.id]
        ).fetchone()
    assert found == (MAX_OF_A_KEY, 8.0)


def test_a_codec_that_one_end_lacks_is_not_advised(agent: httpx.Client) -> None:
    told = advice(agent, codecs=["gzip"])
    assert {each.get("codec") for each in told["options"]} == {"gzip", None}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"file_bytes": 0}, "file_bytes"),
        ({"codecs": ["zip"]}, "codecs.0"),
        ({"samples": [{"codec": "gzip", "level": 77, "speeds": PROBE}]}, "samples.0: gzip has levels 1 to 9, not '77'"),
        ({"samples": [{"codec": "gzip", "level": 2, "speeds": PROBE}] * 2}, "samples: names gzip:2 more than once"),
        ({"probe": None, "samples": [{"codec": "gzip", "level": 2, "speeds": PROBE}]}, "samples: need the probe"),
        ({"cpu_class": "x86-64/a/4097"}, "cpu_class: has more than 4096 cores"),
        ({"probe": PROBE | {"ratio": 0}}, "probe.ratio"),
    ],
)
def test_nonsense_is_refused_with_its_field(agent: httpx.Client, changes: dict[str, Any], field: str) -> None:
    answer = agent.post("/v1/compression/advise", json=ASKED | changes)
    assert answer.status_code == 422
    assert field in answer.text


def test_refused_observation_is_named_and_none_is_stored(agent: httpx.Client) -> None:
    told = [seen("gzip", 1, 4.0, 4e8), seen("gzip", 77, 4.0, 4e8)]
    answer = agent.post("/v1/compression/observations", json={"observations": told})
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["observations.1"]
    assert add(agent, told[0]) == 1


def test_recommendation_has_compression_advice_only_if_requested(agent: httpx.Client) -> None:
    without = agent.post("/v1/recommend", json=ENQUIRY).json()
    whole = agent.post("/v1/recommend", json=ENQUIRY | {"compression": ASKED}).json()
    assert "compression" not in without
    assert whole["compression"]["best"] == advice(agent)["best"]
    assert whole["parameters"] == without["parameters"]


def test_an_observation_of_tomorrow_counts_as_one_of_now(agent: httpx.Client, admin_database_url: str) -> None:
    told = seen("bzip2", 9, 5.0, 1e8, seen_at=(datetime.now(UTC) + timedelta(days=365)).isoformat())
    add(agent, told)
    with psycopg.connect(admin_database_url) as admin:
        row = admin.execute("SELECT seen_at FROM compression_observations WHERE id = %s", (told["id"],)).fetchone()
    assert row is not None
    assert row[0] <= datetime.now(UTC)


def test_no_number_of_machines_makes_a_history_grow_without_end(
    agent: httpx.Client, tenant: Tenant, admin_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.persistence.repositories.advice.compression.MAX_OF_A_TENANT", 6)
    add(agent, *(seen("zstd", 3, 5.0, 1e8, cpu_class=f"x86_64/machine-{number}/2") for number in range(10)))
    with psycopg.connect(admin_database_url) as admin:
        found = admin.execute(
            "SELECT count(*) FROM compression_observations WHERE tenant_id = %s", (tenant.id,)
        ).fetchone()
    assert found == (6,)


def test_observations_of_one_key_do_not_drive_out_those_of_another(
    agent: httpx.Client, api: str, tenant: Tenant, admin_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.persistence.repositories.advice.compression.MAX_OF_A_TENANT", 6)
    mine = [seen("zstd", 3, 5.0, 1e8, cpu_class=f"x86_64/own-{number}/2") for number in range(2)]
    add(agent, *mine)
    with tenant.client(api, Scope.AGENT) as rival:
        for turn in range(3):
            add(rival, *(seen("gzip", 1, 1.0, 1e6, cpu_class=f"x86_64/{turn}-{number}/2") for number in range(10)))
    with psycopg.connect(admin_database_url) as admin:
        found = admin.execute("SELECT id FROM compression_observations WHERE tenant_id = %s", (tenant.id,)).fetchall()
    stored = {str(row[0]) for row in found}
    assert len(stored) == 6
    assert {each["id"] for each in mine} <= stored


def test_file_classes_are_compared_with_the_throughput_of_the_same_recommendation(agent: httpx.Client) -> None:
    sort = {name: value for name, value in ASKED.items() if name != "bandwidth_bps"}
    path = {"bandwidth_bps": 1e9, "rtt_s": 0.2}
    asked = ENQUIRY | {"path": path, "file_classes": [sort, sort | {"connections": 8}]}
    whole = agent.post("/v1/recommend", json=asked).json()
    one, eight = whole["file_classes"]
    raw = [next(each for each in told["options"] if each["mode"] == "raw") for told in (one, eight)]
    assert raw[0] == raw[1]
    assert raw[0]["throughput_bps"]["mean"] == pytest.approx(whole["predicted"]["throughput_bps"]["mean"])
    lz4 = [next(each for each in told["options"] if each.get("codec") == "lz4") for told in (one, eight)]
    assert lz4[0]["throughput_bps"]["mean"] < lz4[1]["throughput_bps"]["mean"]


def test_unknown_path_is_assumed_to_be_usual(agent: httpx.Client) -> None:
    sort = {name: value for name, value in ASKED.items() if name != "bandwidth_bps"}
    whole = agent.post("/v1/recommend", json=ENQUIRY | {"source": "nobody-knows", "file_classes": [sort]}).json()
    (file_class,) = whole["file_classes"]
    raw = next(option for option in file_class["options"] if option["mode"] == "raw")
    assert raw["throughput_bps"]["mean"] == pytest.approx(min(whole["predicted"]["throughput_bps"]["mean"], 50e6))
    assert file_class["best"]["mode"] == "piped"
