"""``POST /v1/logs`` through HTTP, on real PostgreSQL: what is stored, once, and what is refused, with a reason."""

import gzip
import json
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psycopg
import pytest
import zstandard

from services.application.access.authenticate import Scope
from tests.records import known, ndjson, record
from tests.stack import Tenant


def stored(tenant: Tenant, table: str = "transfer_logs") -> int:
    """Rows of the tenant in ``table``, seen as the tenant."""
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        return int(uow.connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


def refusal(api: str, tenant: Tenant, line: bytes) -> dict[str, Any]:
    """How a line beside a valid one is refused; nothing else may come of it."""
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=ndjson([record(0)]) + line)
    assert answer.status_code == 201, answer.text
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (1, 1)
    (rejection,) = answer.json()["rejections"]
    assert rejection["row"] == 2
    return rejection


def test_valid_rows_are_stored_and_the_others_named_with_field_and_reason(api: str, tenant: Tenant) -> None:
    bad = record(1, dataset={"file_count": 0, "total_bytes": 1})
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=ndjson([record(0), bad, record(2)]))
        assert answer.status_code == 201, answer.text
        receipt = answer.json()
        assert (receipt["accepted"], receipt["rejected"]) == (2, 1)
        assert receipt["rejections"][0] == {
            "row": 2,
            "field": "dataset.file_count",
            "reason": "input should be greater than or equal to 1",
        }
        assert client.get(f"/v1/logs/batches/{receipt['batch_id']}").json() == receipt
    assert stored(tenant) == 2
    assert stored(tenant, "log_quarantine") == 1


def test_every_field_of_a_record_reaches_its_column(api: str, tenant: Tenant) -> None:
    full = record(
        id=known(7),
        network="wan",
        path={"bandwidth_bps": 1e9, "rtt_s": 0.06, "min_rtt_s": 0.05, "loss_rate": 0.001, "buffer_bytes": 4e6},
        dataset={
            "file_count": 4,
            "total_bytes": 400,
            "min_file_bytes": 50,
            "max_file_bytes": 150,
            "sd_file_bytes": 30.5,
            "content_type": 'a "quoted", \\odd\\ type',
        },
        usage={"cpu": 0.5, "memory": 0.25, "disk": 0.125, "nic": 1},
        energy=[
            {"host": "destination", "total_j": 9, "method": "rapl", "quality": "measured"},
            {"host": "source", "total_j": 5.5, "dynamic_j": -0.5, "base_w": 40, "tail_j": 1,
             "method": "meter", "quality": "calibrated"},
        ],
        chunk="small",
        transfer_id=known(8),
        sla="line one\nline\ttwo\x01 'x' ,null,",
        quote="null",
    )  # fmt: skip
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=ndjson([full])).status_code == 201
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        row = uow.connection.exec_driver_sql("SELECT * FROM transfer_logs").mappings().one()
    assert (row["sla"], row["quote"], row["content_type"]) == (full["sla"], "null", full["dataset"]["content_type"])
    assert (row["mean_file_bytes"], row["min_file_bytes"], row["sd_file_bytes"]) == (100, 50, 30.5)
    assert (row["source_energy_j"], row["source_dynamic_j"], row["source_energy_method"]) == (5.5, -0.5, "meter")
    assert (row["destination_energy_j"], row["destination_dynamic_j"]) == (9, None)
    assert (row["usage_nic"], row["usage_disk"], row["loss_rate"]) == (1, 0.125, 0.001)
    assert (row["concurrency"], row["cores"], row["chunk"], str(row["transfer_id"])) == (4, None, "small", known(8))


def line_of(**changes: Any) -> bytes:
    return ndjson([record(1, **changes)])


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b'{"id": 1, oops}\n', "row"),
        (b"[]\n", "row"),
        (b"\xff\xfe\x00\n", "row"),
        (b'{"source": "\\ud800"}\n', "row"),
        (line_of(outcome=None), "outcome"),
        (line_of(dataset={"file_count": 1, "total_bytes": -1}), "dataset.total_bytes"),
        (line_of(path={"rtt_s": float("nan")}), "path.rtt_s"),
        (line_of(path={"bandwidth_bps": float("inf")}), "path.bandwidth_bps"),
        (line_of(path={"bandwidth_mbps": 100}), "path.bandwidth_mbps"),
        (line_of(size_mb=3), "size_mb"),
        (line_of(ended_at="2026-03-01T00:00:00+00:00"), "ended_at"),
        (line_of(started_at="2026-03-01T00:00:00"), "started_at"),
        (line_of(ended_at="2099-01-01T00:00:00Z"), "ended_at"),
        (line_of(source="a\x00b"), "source"),
        (line_of(path={"bandwidth_bps": 1e6}), "outcome.throughput_bps"),
        (line_of(energy=[{"host": "source", "total_j": 1, "method": "rapl", "quality": "measured"}] * 2), "energy"),
        (line_of(chunk="small"), "transfer_id"),
        (b"[" * 100_000 + b"\n", "row"),
        (b'"' + b"x" * 2_000_000 + b'"\n', "row"),
    ],
    ids=[
        "malformed", "no object", "no text", "lone surrogate", "missing field", "negative", "NaN", "infinite",
        "unknown unit", "unknown field", "ends before it starts", "time without zone", "in the future",
        "NUL in a name", "above the link's rate", "one host twice", "chunk of no transfer", "deeply nested",
        "line too long",
    ],
)  # fmt: skip
def test_a_bad_row_is_refused_with_its_field_and_the_good_one_stored(
    api: str, tenant: Tenant, line: bytes, field: str
) -> None:
    rejection = refusal(api, tenant, line)
    assert rejection["field"] == field
    assert rejection["reason"]
    assert (stored(tenant), stored(tenant, "log_quarantine")) == (1, 1)


def test_a_batch_with_nothing_valid_is_a_problem_that_names_the_batch(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=b"nonsense\n" * 3)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["rejected"], len(answer.json()["rejections"])) == (3, 3)
        assert client.get(f"/v1/logs/batches/{answer.json()['batch_id']}").json()["rejected"] == 3
    assert (stored(tenant), stored(tenant, "log_quarantine")) == (0, 3)


def test_an_empty_batch_is_a_problem(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        for content in (b"", b"\n \n"):
            assert client.post("/v1/logs", content=content).status_code == 422
    assert stored(tenant, "batches") == 0


def test_a_hundred_megabytes_of_one_line_are_one_refused_row(api: str, tenant: Tenant) -> None:
    chunk = b"x" * 1_000_000
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=(chunk for _ in range(100)))
    assert answer.status_code == 422
    assert answer.json()["rejections"] == [{"row": 1, "field": "row", "reason": "is longer than 1 MiB"}]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_too_large(api: str, tenant: Tenant, encoding: str) -> None:
    zeros = bytes(64_000_000)
    bomb = gzip.compress(zeros, 9) if encoding == "gzip" else zstandard.compress(zeros)
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=bomb, headers={"Content-Encoding": encoding})
    assert answer.status_code == 413
    assert stored(tenant, "batches") == 0


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_compressed_batch_is_stored_and_one_cut_off_is_not(api: str, tenant: Tenant, encoding: str) -> None:
    body = ndjson(record(n) for n in range(50))
    packed = gzip.compress(body) if encoding == "gzip" else zstandard.compress(body)
    with tenant.client(api) as client:
        headers = {"Content-Encoding": encoding}
        for cut in (packed[: len(packed) // 2], packed[:-1], packed + b"garbage", b"nonsense"):
            assert client.post("/v1/logs", content=cut, headers=headers).status_code == 422
            assert stored(tenant) == 0
        assert client.post("/v1/logs", content=packed, headers=headers).json()["accepted"] == 50


def test_an_unknown_encoding_is_unsupported(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=ndjson([record()]), headers={"Content-Encoding": "br"})
    assert answer.status_code == 415


def test_a_connection_cut_off_halfway_stores_nothing(api: str, tenant: Tenant) -> None:
    body = ndjson(record(n) for n in range(100))
    address = urlsplit(api)
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = (
            f"POST /v1/logs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tenant.secret}\r\n"
            f"Idempotency-Key: cut\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        connection.sendall(head.encode() + body[: len(body) // 2])
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)  # the service has noticed
    assert (stored(tenant), stored(tenant, "batches")) == (0, 0)
    with tenant.client(api) as client:  # and the key is still free
        answer = client.post("/v1/logs", content=body, headers={"Idempotency-Key": "cut"})
    assert answer.json()["accepted"] == 100


def test_the_same_batch_twice_is_stored_once(api: str, tenant: Tenant) -> None:
    body = ndjson([record(0), record(1)])
    with tenant.client(api) as client:
        first = client.post("/v1/logs", content=body, headers={"Idempotency-Key": "k"})
        again = client.post(
            "/v1/logs", content=gzip.compress(body), headers={"Idempotency-Key": "k", "Content-Encoding": "gzip"}
        )
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json() | {"duplicate": True}
    assert stored(tenant) == 2


def test_without_a_key_the_content_is_the_key(api: str, tenant: Tenant) -> None:
    body = ndjson([record(0)])
    with tenant.client(api) as client:
        first, again = (client.post("/v1/logs", content=body).json() for _ in range(2))
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert first["batch_id"] == again["batch_id"]


def test_a_key_used_for_other_content_is_a_conflict(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        headers = {"Idempotency-Key": "k"}
        assert client.post("/v1/logs", content=ndjson([record(0)]), headers=headers).status_code == 201
        assert client.post("/v1/logs", content=ndjson([record(1)]), headers=headers).status_code == 409
    assert stored(tenant) == 1


def test_records_stored_before_are_refused_and_the_new_ones_stored(api: str, tenant: Tenant) -> None:
    rows = [record(n) for n in range(4)]
    with tenant.client(api) as client:
        client.post("/v1/logs", content=ndjson(rows[:2]))
        overlapping = client.post("/v1/logs", content=ndjson([*rows, rows[3]])).json()
        again = client.post("/v1/logs", content=ndjson(rows))
        (link,) = client.get("/v1/links").json()
    assert (overlapping["accepted"], overlapping["rejected"]) == (2, 3)
    assert {each["row"]: each["reason"] for each in overlapping["rejections"]} == dict.fromkeys(
        (1, 2, 5), "is already stored"
    )
    assert (again.status_code, again.json()["accepted"], again.json()["rejected"]) == (201, 0, 4)
    assert stored(tenant) == link["rows"] == 4


def together(api: str, tenant: Tenant, bodies: Sequence[bytes], key: str | None = None) -> list[httpx.Response]:
    """Upload all bodies at once."""
    start = threading.Barrier(len(bodies))

    def upload(body: bytes) -> httpx.Response:
        with tenant.client(api) as client:
            start.wait()
            return client.post("/v1/logs", content=body, headers={"Idempotency-Key": key or uuid4().hex})

    with ThreadPoolExecutor(len(bodies)) as threads:
        return list(threads.map(upload, bodies))


def test_the_same_batch_at_once_is_stored_once(api: str, tenant: Tenant) -> None:
    body = ndjson(record(n) for n in range(300))
    answers = together(api, tenant, [body] * 4, key="k")
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["batch_id"] for answer in answers}) == 1
    assert stored(tenant) == 300


def test_batches_at_once_that_bring_the_same_new_links_and_months_are_all_stored(api: str, tenant: Tenant) -> None:
    rows = [
        record(40_000 * n, source=f"s{n}", destination=f"d{n}", ended_at=f"2026-1{n // 10}-01T00:00:00Z")
        for n in range(6)
    ]
    bodies = [ndjson(each | {"id": str(uuid4())} for each in order) for order in (rows, rows[::-1], rows, rows[::-1])]
    answers = together(api, tenant, bodies)
    assert [answer.status_code for answer in answers] == [201] * 4
    assert stored(tenant) == 24
    assert (stored(tenant, "links"), stored(tenant, "endpoints")) == (6, 12)


def test_blocks_of_a_large_batch_are_counted_together(api: str, tenant: Tenant) -> None:
    rows = [record(n % 1000, destination=f"d{n % 7}") for n in range(4500)]
    lines = ndjson(rows).splitlines(keepends=True)
    lines[10] = lines[4400] = b"broken\n"
    lines[4300] = lines[0]
    with tenant.client(api) as client:
        receipt = client.post("/v1/logs", content=b"".join(lines)).json()
        links = client.get("/v1/links").json()
    assert (receipt["accepted"], receipt["rejected"]) == (4497, 3)
    assert [each["row"] for each in receipt["rejections"]] == [11, 4301, 4401]
    assert sum(link["rows"] for link in links) == stored(tenant) == 4497


def test_missing_path_is_filled_in_from_known_pairs_by_any_alias(api: str, tenant: Tenant) -> None:
    new = {
        "name": "archive",
        "aliases": ["dtn1.example.org"],
        "known_pairs": [{"destination": "omega", "bandwidth_bps": 1e9, "rtt_s": 0.1}],
    }
    too_fast = record(1, source="archive", path=None)
    too_fast["outcome"]["throughput_bps"] = 2e9
    with tenant.client(api) as client:
        assert client.post("/v1/endpoints", json=new).status_code == 201
        rows = [record(0, source="dtn1.example.org", path={"rtt_s": 0.05}), too_fast]
        receipt = client.post("/v1/logs", content=ndjson(rows)).json()
        (link,) = client.get("/v1/links").json()
    assert receipt["accepted"] == 1
    assert receipt["rejections"][0]["field"] == "outcome.throughput_bps"
    assert (link["source"], link["destination"]) == ("archive", "omega")
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.connection.exec_driver_sql("SELECT bandwidth_bps, rtt_s FROM transfer_logs").one() == (1e9, 0.05)


def test_uploading_needs_the_scope_of_an_agent(api: str, tenant: Tenant) -> None:
    with tenant.client(api, Scope.ANALYST) as client:
        answer = client.post("/v1/logs", content=ndjson([record()]))
    assert answer.status_code == 403


def test_a_job_is_published_once_rows_are_stored(api: str, tenant: Tenant) -> None:
    def queued() -> int:
        return sum(
            str(tenant.id) in json.dumps(json.loads(message)["headers"])
            for message in tenant.parts.client.lrange("celery", 0, -1)  # type: ignore[union-attr]  # the client is synchronous
        )

    with tenant.client(api) as client:
        client.post("/v1/logs", content=b"broken\n")
        assert queued() == 0
        client.post("/v1/logs", content=ndjson([record()]))
    assert queued() == 1


def test_no_row_is_visible_before_its_batch_is_complete(api: str, tenant: Tenant, admin_database_url: str) -> None:
    """A batch that fails in its last block leaves nothing, though blocks before were copied."""
    body = gzip.compress(ndjson(record(n) for n in range(4500)))
    with tenant.client(api) as client:
        answer = client.post(
            "/v1/logs", content=body[:-20], headers={"Content-Encoding": "gzip", "Idempotency-Key": "k"}
        )
    assert answer.status_code == 422
    with psycopg.connect(admin_database_url) as admin:
        for table in ("transfer_logs", "links", "endpoints", "batches"):
            rows = admin.execute(f"SELECT count(*) FROM {table} WHERE tenant_id = %s", [tenant.id]).fetchone()
            assert rows == (0,), table
