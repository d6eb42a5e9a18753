"""``/v1/recommend`` over HTTP, on a release that a real refresh made of uploaded logs."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx
import pytest

from benchmarks.api.cases import FAMILIES, PATH, SLAS, SOURCE, make_log_lines, make_requests
from services.application.access.authenticate import Keyring, Scope
from services.application.models.learned_model import StoredModel
from services.application.recommend.lookup import Snapshots
from services.application.recommend.snapshot import Index
from services.application.shared.jobs import ReleaseChanged
from services.bootstrap import Container, build_container
from services.persistence.log_reader import LogReader
from tests.conditions import eventually
from tests.integration.models.first_fits import FIRST_FITS
from tests.integration.models.refreshes import Refreshes
from tests.stack import PATIENCE_S, Tenant, new_tenant, serving
from tradewind.wire.recommendations import RecommendResponse

DESTINATION = "amber"
SMALL = {"file_count": 300, "total_bytes": 30_000_000}
MIXED = next(body["dataset"] for body in make_requests() if "size_histogram" in body["dataset"])


def body(**changes: Any) -> dict[str, Any]:
    """A request; ``None`` leaves a field out."""
    whole = {"source": SOURCE, "destination": DESTINATION, "dataset": SMALL, "sla": {"kind": "max_throughput"}}
    return {name: value for name, value in (whole | changes).items() if value is not None}


@pytest.fixture(scope="module")
def learned(api: str, parts: Container, database_url: str, logs: LogReader) -> Tenant:
    """A tenant with two releases of one link."""
    tenant = new_tenant(parts, database_url)
    refreshes = Refreshes(tenant, logs, learner=FIRST_FITS)
    with tenant.client(api) as client:
        for seed in (1, 2):
            lines = b"".join(make_log_lines(seed, (DESTINATION,)))
            assert client.post("/v1/logs", content=lines).json()["rejected"] == 0
            assert refreshes.run() is not None
    return tenant


@pytest.fixture
def client(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api, Scope.AGENT) as opened:
        yield opened


def recommended(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    answer = client.post("/v1/recommend", json=body(**changes))
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


@pytest.mark.parametrize("dataset", [SMALL, MIXED], ids=["alike", "mixed"])
@pytest.mark.parametrize("sla", SLAS, ids=str)
def test_every_kind_of_sla_is_answered_from_the_release(
    client: httpx.Client, sla: dict[str, Any], dataset: dict[str, Any]
) -> None:
    made = recommended(client, sla=sla, dataset=dataset)
    assert made["source"] == "release"
    assert 0 <= made["sla"]["probability"] <= 1
    assert {name: made["sla"][name] for name in sla} == sla
    assert made["predicted"]["energy_j"]["low"] < made["predicted"]["energy_j"]["mean"]


def test_the_answer_has_every_field_and_reads_back(client: httpx.Client) -> None:
    made = recommended(client, dataset=MIXED)
    RecommendResponse.model_validate(made, strict=False, extra="forbid")
    assert made.keys() == RecommendResponse.model_fields.keys() - {"regions"}, "absent where no region is known"
    assert made["sla"].keys() >= {"tier_id", "tier", "price", "probability", "feasible"}
    assert made["predicted"].keys() == {"throughput_bps", "energy_j", "power_w"}
    assert set(made["flags"]) == {"rclone", "aria2", "curl", "globus-url-copy", "aws", "s5cmd", "gcloud"}
    for table in made["table"].values():
        assert table.keys() >= {"settings", "queueing_delay_p90_s", "loss_baseline", "bank_limit_bits"}
        assert table["settings"][0].keys() >= {"parameters", "log_throughput_mean", "power_w_mean", "certified"}


def test_small_medium_and_large_files_get_a_plan_and_a_table_each(client: httpx.Client) -> None:
    made = recommended(client, dataset=MIXED)
    assert [chunk["chunk"] for chunk in made["chunks"]] == ["small", "medium", "large"] == list(made["table"])
    small, medium, large = (chunk["max_file_bytes"] for chunk in made["chunks"])
    assert (small, medium) == (pytest.approx(PATH.bdp_bytes, abs=1), pytest.approx(20 * PATH.bdp_bytes, abs=1))
    assert large is None
    assert made["chunks"][2]["parameters"]["concurrency"] <= FAMILIES["large"].file_count
    assert made["parameters"]["concurrency"] == sum(chunk["parameters"]["concurrency"] for chunk in made["chunks"])


def test_each_answer_is_a_transfer_of_its_own(client: httpx.Client) -> None:
    assert recommended(client)["transfer_id"] != recommended(client)["transfer_id"]


def test_unknown_path_is_answered_by_its_neighbours(client: httpx.Client) -> None:
    made = recommended(client, destination="faraway", path={"bandwidth_bps": 8e8, "rtt_s": 0.05})
    assert made["source"] == "neighbour"
    assert not made["sla"]["feasible"]
    assert f"{SOURCE} → {DESTINATION}" in made["rationale"]
    RecommendResponse.model_validate(made, extra="forbid")


def test_a_path_unlike_all_others_is_answered_by_rule(client: httpx.Client) -> None:
    made = recommended(client, destination="next door", path={"bandwidth_bps": 1e7, "rtt_s": 1e-4})
    assert (made["source"], made["release"]) == ("heuristic", None)
    RecommendResponse.model_validate(made, extra="forbid")


def test_another_mover_borrows_from_the_one_with_logs_of_the_path(client: httpx.Client) -> None:
    made = recommended(client, mover="rclone")
    assert (made["source"], made["sla"]["feasible"]) == ("neighbour", False)
    assert f"{SOURCE} → {DESTINATION} by tradewind" in made["rationale"]


def test_links_of_another_tenant_are_unknown(api: str, learned: Tenant, tenant: Tenant) -> None:
    with tenant.client(api) as stranger:
        assert recommended(stranger)["source"] == "heuristic"


@pytest.mark.parametrize("dataset", [SMALL, MIXED], ids=["alike", "mixed"])
def test_recommendation_stays_within_the_limits(client: httpx.Client, dataset: dict[str, Any]) -> None:
    limits = {"concurrency": 6, "streams": 6, "parallelism": 2, "pipelining": 4}
    chunks = recommended(client, limits=limits, dataset=dataset)["chunks"]
    settings = [chunk["parameters"] for chunk in chunks]
    assert sum(each["concurrency"] for each in settings) <= 6
    assert sum(each["concurrency"] * each["parallelism"] for each in settings) <= 6
    assert max(each["parallelism"] for each in settings) <= 2
    assert max(each["pipelining"] for each in settings) <= 4


@pytest.mark.parametrize("dataset", [SMALL, MIXED], ids=["alike", "mixed"])
def test_impossible_sla_gets_the_likeliest_setting_and_the_rationale_says_so(
    client: httpx.Client, dataset: dict[str, Any]
) -> None:
    made = recommended(client, sla={"kind": "throughput_at_least", "target": 9e9}, dataset=dataset)
    assert not made["sla"]["feasible"]
    assert made["sla"]["probability"] < 0.1
    assert made["sla"]["tier_id"] is None
    assert "cannot be certified" in made["rationale"]


def test_confidence_is_rounded_up_to_a_stored_one(client: httpx.Client) -> None:
    assert recommended(client, sla={"kind": "min_energy", "confidence": 0.85})["sla"]["confidence"] == 0.9


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sla": {"kind": "cheapest"}}, "sla.kind"),
        ({"sla": {"kind": "deadline"}}, "sla.target"),
        ({"sla": {"kind": "deadline", "target": -1}}, "sla.target"),
        ({"sla": {"kind": "min_energy", "target": 5}}, "sla.target"),
        ({"sla": {"kind": "min_energy", "fraction": 0.5}}, "sla.fraction"),
        ({"sla": {"kind": "max_throughput", "confidence": 0.999}}, "sla.confidence"),
        ({"dataset": SMALL | {"total_bytes": -1}}, "dataset.total_bytes"),
        ({"dataset": SMALL | {"file_count": 0}}, "dataset.file_count"),
        ({"dataset": SMALL | {"file_count": 2**63}}, "dataset.file_count"),
        ({"dataset": SMALL | {"mean_file_bytes": 7}}, "dataset.mean_file_bytes"),
        ({"dataset": SMALL | {"files": 3}}, "dataset.files"),
        ({"dataset": MIXED | {"total_bytes": 1}}, "dataset.size_histogram"),
        ({"dataset": MIXED | {"size_histogram": MIXED["size_histogram"][:2]}}, "dataset.size_histogram"),
        (
            {"dataset": MIXED | {"size_histogram": MIXED["size_histogram"][::-1]}},
            "dataset.size_histogram.1.max_file_bytes",
        ),
        (
            {"dataset": {"file_count": 1, "total_bytes": 9, "size_histogram": [
                {"max_file_bytes": 8, "file_count": 1, "total_bytes": 9}]}},
            "dataset.size_histogram.0.total_bytes",
        ),
        ({"load": 1.5}, "load"),
        ({"limits": {"streams": 0}}, "limits.streams"),
        ({"path": {"rtt_s": 0}}, "path.rtt_s"),
        ({"path": {"rtt_ms": 60}}, "path.rtt_ms"),
        ({"source": ""}, "source"),
        ({"device": "phone"}, "device"),
        ({"destination": None}, "destination"),
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_field_is_named(client: httpx.Client, changes: dict[str, Any], field: str) -> None:
    answer = client.post("/v1/recommend", json=body(**changes))
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"][0]["field"] == field


REQUEST = (
    b'{"source": "a", "destination": "b", "dataset": {"file_count": 1, "total_bytes": %s},'
    b' "sla": {"kind": "deadline", "target": %s}}'
)
UNREADABLE = (REQUEST % (b"9" * 6000, b"5"), b"[" * 100_000)


@pytest.mark.parametrize(
    "content",
    [
        REQUEST % (b"1", b"NaN"),
        REQUEST % (b"1", b"Infinity"),
        REQUEST % (b"1", b"-Infinity"),
        REQUEST % (b"1", b"1e999"),
        REQUEST % (b"9" * 30, b"5"),
        UNREADABLE[0],
        REQUEST % (b"1.5", b"5"),
        REQUEST % (b'"x"', b"5"),
        REQUEST[:40],
        UNREADABLE[1],
        b"[]",
        b"null",
        b"",
        b"\xff\xfe",
    ],
    ids=range(14),
)
def test_malformed_request_gets_a_problem(client: httpx.Client, content: bytes) -> None:
    answer = client.post("/v1/recommend", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == (400 if content in UNREADABLE else 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_that_is_too_large_is_refused(client: httpx.Client) -> None:
    assert client.post("/v1/recommend", json=body(network="x" * 2**21)).status_code == 413


def test_request_without_a_valid_key_is_refused(api: str, learned: Tenant) -> None:
    for headers in ({}, {"Authorization": "Bearer tw_wrong"}, {"Authorization": "Basic YTpi"}):
        answer = httpx.post(f"{api}/v1/recommend", json=body(), headers=headers)
        assert answer.status_code == 401
        assert "Bearer" in answer.headers["www-authenticate"]


def test_a_key_of_another_scope_is_refused(api: str, learned: Tenant) -> None:
    with learned.client(api, Scope.ANALYST, Scope.PROVIDER) as reader:
        assert reader.post("/v1/recommend", json=body()).status_code == 403


def test_a_revoked_key_is_refused_at_once(api: str, learned: Tenant) -> None:
    with learned.client(api) as operator:
        created = operator.post("/v1/keys", json={"name": "short-lived", "scopes": ["agent"]}).json()
        agent = {"Authorization": f"Bearer {created['secret']}"}
        assert httpx.post(f"{api}/v1/recommend", json=body(), headers=agent).status_code == 200
        assert operator.delete(f"/v1/keys/{created['id']}").status_code == 204
        assert httpx.post(f"{api}/v1/recommend", json=body(), headers=agent).status_code == 401


def test_a_rollback_and_a_publication_change_the_answer_at_once(api: str, learned: Tenant, logs: LogReader) -> None:
    refreshes = Refreshes(learned, logs)
    with learned.client(api) as client:
        second = recommended(client)["release"]
        first = client.post(f"/v1/releases/{second}/rollback").json()["id"]
        eventually(lambda: recommended(client)["release"] == first)
        client.post("/v1/logs", content=b"".join(make_log_lines(3, (DESTINATION,))))
        third = refreshes.run()
        assert third not in {first, second}
        (notice,) = (event for event in refreshes.sent if isinstance(event, ReleaseChanged))
        learned.parts.store._outbox.send(notice)
        eventually(lambda: recommended(client)["release"] == third)


def test_an_alias_and_what_is_known_of_a_path_count_at_once(api: str, learned: Tenant) -> None:
    with learned.client(api) as client:
        assert "assuming bandwidth" in recommended(client, source="lake", destination="hill")["rationale"]
        pair = {"destination": "hill", "bandwidth_bps": 9e8, "rtt_s": 0.055}
        lake = client.post("/v1/endpoints", json={"name": "lake", "aliases": ["lake.example"], "known_pairs": [pair]})
        assert lake.status_code == 201
        assert "assuming" not in recommended(client, source="lake.example", destination="hill")["rationale"]
        ends = {each["name"]: each["id"] for each in client.get("/v1/endpoints").json()}
        assert client.patch(f"/v1/endpoints/{ends[SOURCE]}", json={"aliases": ["origin.example"]}).status_code == 200
        assert recommended(client, source="origin.example")["source"] == "release"


UNREACHABLE_DATABASE, UNREACHABLE_REDIS = "postgresql://nobody@127.0.0.1:1/none", "redis://127.0.0.1:1"


class Alone:
    """A process whose database and Redis are away; look-ups go elsewhere, are counted, and can be held up."""

    def __init__(self, learned: Tenant) -> None:
        self.store = learned.parts.store
        self.looked_up: list[str] = []
        self.held_up: set[UUID] = set()
        self.under_way, self.go_on = threading.Event(), threading.Event()

    def find_key(self, digest: bytes):
        self.looked_up.append("key")
        return self.store.registry.find_key(digest)

    def index(self, tenant_id: UUID) -> Index:
        self.looked_up.append("index")
        if tenant_id in self.held_up:
            self.under_way.set()
            assert self.go_on.wait(PATIENCE_S)
        return self.store.index(tenant_id)

    def model(self, tenant_id: UUID, model_id: UUID) -> StoredModel:
        self.looked_up.append("model")
        return self.store.model(tenant_id, model_id)

    def parts(self, parts: Container) -> Container:
        still = lambda: 0.0  # noqa: E731 - a clock
        snapshots = Snapshots(self.index, self.model, still)
        return replace(parts, keyring=Keyring(self.find_key, still), snapshots=snapshots)


@pytest.fixture
def alone(learned: Tenant) -> Alone:
    return Alone(learned)


@pytest.fixture
def cut_off(alone: Alone) -> Iterator[str]:
    """The address of that process."""
    with (
        build_container(database_url=UNREACHABLE_DATABASE, redis_url=UNREACHABLE_REDIS) as away,
        serving(alone.parts(away)) as address,
    ):
        yield address


def test_a_link_in_memory_is_answered_without_database_and_redis(cut_off: str, alone: Alone, learned: Tenant) -> None:
    with learned.client(cut_off) as client:
        recommended(client)
        assert alone.looked_up == ["key", "index", "model"]
        for sla in SLAS:
            recommended(client, sla=sla, dataset=MIXED)
        assert alone.looked_up == ["key", "index", "model"]


def test_a_tenant_that_is_not_in_memory_is_looked_up_once_and_holds_nobody_up(
    cut_off: str, alone: Alone, learned: Tenant, tenant: Tenant
) -> None:
    alone.held_up.add(tenant.id)
    with learned.client(cut_off) as client, tenant.client(cut_off) as other, ThreadPoolExecutor() as pool:
        waiting = [pool.submit(recommended, other) for _ in range(3)]
        assert alone.under_way.wait(PATIENCE_S)
        recommended(client)
        assert not any(each.done() for each in waiting)
        alone.go_on.set()
        assert {each.result()["source"] for each in waiting} == {"heuristic"}
        assert alone.looked_up.count("index") == 2
