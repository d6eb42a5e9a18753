"""Customers of one provider: one of two agent keys of a tenant attacks the other."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import psycopg

from benchmarks.attack.cases import attack, require
from benchmarks.attack.scene import Scene, Transfer, make_record
from benchmarks.faults.waiting import wait_until

CONFLICT = 409
CAP_PATIENCE_S = 90.0
PROFILES = 101
"""One more than a customer's key may store."""

_FIGURE = {"value": 1.5, "origin": "calibrated", "source": "a meter"}
PROFILE: Mapping[str, Any] = {
    "producer": "Acme", "model": "Router", "idle_w": _FIGURE, "component_w": {"cpu": _FIGURE}, "radios": ["lte"],
}  # fmt: skip


@attack("customer × customer")
def heartbeats_in_another_customers_transfer(scene: Scene) -> int:
    owner, rival = scene.customers
    transfer = Transfer(owner)
    transfer.beat()
    path = f"/v1/transfers/{transfer.id}/heartbeats"
    statuses = [
        rival.post(path, json=transfer.make_beat(sequence, retransmitted_bytes=10**9)).status_code
        for sequence in (0, 1, 50)
    ]
    require(set(statuses) == {CONFLICT}, f"a rival's heartbeats are answered {statuses}")
    require(transfer.beat().json()["sequence"] == 1, "the owner's next heartbeat is not the next one")
    return 4


@attack("customer × customer")
def completion_of_another_customers_transfer(scene: Scene) -> int:
    owner, rival = scene.customers
    transfer = Transfer(owner)
    transfer.beat()
    status = transfer.complete(rival, "failed").status_code
    require(status == CONFLICT, f"a rival ends it: {status}")
    transfer.beat()
    require(transfer.complete().status_code == httpx.codes.OK, "the owner cannot end it any more")
    return 3


@attack("customer × customer")
def log_of_another_customers_transfer(scene: Scene) -> int:
    """Upload a log for a transfer that began a moment ago, and for one that failed."""
    owner, rival = scene.customers
    started, failed = Transfer(owner), Transfer(owner)
    failed.beat()
    failed.complete(status="failed").raise_for_status()
    started.beat()
    stored = "SELECT FROM transfers WHERE id = %s AND key_id IS NOT NULL"
    with psycopg.connect(scene.service.postgres.url(), autocommit=True) as admin:
        wait_until(lambda: admin.execute(stored, [started.id]).rowcount, "the transfer in the database")
    for transfer in (started, failed):
        row = json.dumps(make_record(transfer.id)).encode()
        answer = rival.post("/v1/logs", content=row, headers={"Content-Type": "application/x-ndjson"})
        require(answer.is_client_error, f"a rival's log of another's transfer is stored: {answer.status_code}")
    return 2


@attack("customer × customer")
def idempotency_keys_of_another_customer(scene: Scene) -> int:
    name = {"Idempotency-Key": f"day {uuid4()}"}
    receipts = [
        customer.post("/v1/logs", content=json.dumps(make_record(None)).encode(), headers=name)
        for customer in scene.customers
    ]
    require([each.status_code for each in receipts] == [201, 201], "the second of two keys of one name is refused")
    require(receipts[0].json()["batch_id"] != receipts[1].json()["batch_id"], "a rival gets another's receipt")
    return 2


@attack("customer × customer")
def device_profile_of_another_customer(scene: Scene) -> int:
    owner, rival = scene.customers
    name, profile = f"phone-{uuid4().hex[:8]}", PROFILE
    owner.put(f"/v1/devices/{name}", json=profile).raise_for_status()
    before = owner.get(f"/v1/devices/{name}").text
    require(name not in rival.get("/v1/devices").text, "a rival sees the profile")
    rival.put(f"/v1/devices/{name}", json=profile)
    rival.delete(f"/v1/devices/{name}")
    require(owner.get(f"/v1/devices/{name}").text == before, "a rival changed the profile")
    return 4


@attack("customer × customer")
def device_profiles_that_leave_no_room(scene: Scene) -> int:
    owner, rival = scene.customers
    mark = uuid4().hex[:8]
    statuses = [rival.put(f"/v1/devices/{mark}-{number}", json=PROFILE).status_code for number in range(PROFILES)]
    require(CONFLICT in statuses, f"one key stores {len(statuses)} profiles")
    status = owner.put(f"/v1/devices/{mark}", json=PROFILE).status_code
    require(status == httpx.codes.OK, f"another customer's first profile is answered {status}")
    return len(statuses) + 1


@attack("customer × customer")
def a_cap_that_one_customer_reports_twice(scene: Scene) -> int:
    """Report one stream for an endpoint with two keys of one customer: it must not bind the others."""
    owner, root = scene.customers[0], scene.victim.root
    keys = [
        root.post("/v1/keys", json={"name": f"greedy {uuid4().hex[:8]}", "scopes": ["agent"]}).raise_for_status().json()
        for _ in range(2)
    ]
    sent = {"name": f"Greedy {uuid4().hex[:8]}", "key_ids": [each["id"] for each in keys]}
    root.post("/v1/customers", json=sent).raise_for_status()
    learned = {"endpoint": "birch", "streams": 1, "refused_at": datetime.now(UTC).isoformat()}
    for key in keys:
        with scene.open_client(key["secret"]) as client:
            client.post("/v1/limits/learned", json=learned).raise_for_status()
    shown = [limit for limit in owner.get("/v1/limits").raise_for_status().json() if limit["learned_at"]]
    root.put("/v1/limits", json={"scope": "endpoint", "endpoint": "birch"}).raise_for_status()
    require(not shown, f"another customer is bound: {shown}")
    return 7


@attack("idle × running")
def many_idle_transfers_of_one_key(scene: Scene) -> int:
    """Ten live transfers of a key that move nothing, next to one of another key that runs."""
    return _compete(scene, idle=10, throughput_bps=0.0, least_share=8)


@attack("idle × running")
def many_running_transfers_of_one_key(scene: Scene) -> int:
    return _compete(scene, idle=10, throughput_bps=1e6, least_share=8)


@attack("idle × running")
def transfers_that_report_more_streams_than_granted(scene: Scene) -> int:
    parameters = {"concurrency": 500, "parallelism": 1, "pipelining": 1}
    return _compete(scene, idle=2, throughput_bps=1e6, least_share=8, parameters=parameters)


def _compete(scene: Scene, *, idle: int, throughput_bps: float, least_share: int, **changes: Any) -> int:
    """Require that a running transfer gets its part of a cap of 16 next to many of another key."""
    place = {"scope": "link", "source": "origin", "destination": "birch"}
    scene.victim.root.put("/v1/limits", json=place | {"concurrency": 16}).raise_for_status()
    crowd_key, own_key = scene.make_customer(), scene.make_customer()
    _wait_for_cap(own_key)
    full_cap = {"wanted": {"concurrency": 16, "streams": 16}}
    crowd = [Transfer(crowd_key, "birch") for _ in range(idle)]
    running = Transfer(own_key, "birch")
    try:
        deadline_s, number = time.monotonic() + CAP_PATIENCE_S, 0
        while time.monotonic() < deadline_s:  # the store of shares may count as lost for a while on a busy machine
            number += 1
            for each in crowd:
                each.beat(throughput_bps=throughput_bps, **full_cap, **changes)
            running.beat(**full_cap)
            if running.share >= least_share and number > idle:
                break
        require(running.share >= least_share, f"the running transfer gets {running.share} of 16")
    finally:
        for each in (*crowd, running):
            each.complete()
        scene.victim.root.put("/v1/limits", json=place | {"concurrency": None}).raise_for_status()
    return number * (idle + 1)


def _wait_for_cap(customer: httpx.Client) -> None:
    """Wait until every process knows the cap, and the store of shares counts as there without a break."""
    full_cap, in_a_row = {"wanted": {"concurrency": 16, "streams": 16}}, 0
    deadline_s = time.monotonic() + CAP_PATIENCE_S
    while in_a_row < 8:
        require(time.monotonic() < deadline_s, f"a cap of 16 is not granted within {CAP_PATIENCE_S:.0f} s")
        transfer = Transfer(customer, "birch")
        transfer.beat(**full_cap)
        in_a_row = in_a_row + 1 if transfer.share == 16 else 0
        transfer.complete()
        time.sleep(0.05)


@attack("customer × tenant")
def rubbish_that_fills_the_quarantine(scene: Scene) -> int:
    customer = scene.make_customer()
    for number in range(3):
        rows = b"".join(b'{"row": %d}\n' % (number * 10**6 + each) for each in range(9_000))
        customer.post("/v1/logs", content=rows)
    count = "SELECT count(*) FROM log_quarantine q JOIN batches b ON b.id = q.batch_id WHERE b.tenant_id = %s"
    with psycopg.connect(scene.service.postgres.url()) as admin:
        (stored,) = admin.execute(count, [scene.victim.id]).fetchone() or (0,)
    require(stored <= 20_100, f"{stored} rows of one key are in quarantine")
    return 3


@attack("customer × tenant")
def formulas_in_names_of_endpoints(scene: Scene) -> int:
    """Send a name that must be no formula in the provider's spreadsheet."""
    name = f'=HYPERLINK("http://elsewhere.example/{uuid4().hex[:6]}")'
    scene.customers[0].post("/v1/logs", content=json.dumps(make_record(None, source=name)).encode()).raise_for_status()
    analyst = scene.victim.root
    query = {"sql": "SELECT source FROM links WHERE source LIKE '=%'", "format": "csv"}
    wait_until(lambda: "HYPERLINK" in analyst.post("/v1/warehouse/query", json=query).text, "the link in the warehouse")
    for text in (
        analyst.post("/v1/warehouse/query", json=query).text,
        analyst.get(f"/v1/usage-statements?month={_this_month()}&format=csv").text,
    ):
        require('"=HYPERLINK' not in text and "\n=HYPERLINK" not in text, "CSV has a formula")
    return 3


def _this_month() -> str:
    return str(make_record(None)["started_at"])[:7]
