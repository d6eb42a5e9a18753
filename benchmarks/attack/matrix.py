"""Every call of the OpenAPI document, as every caller, and with what another tenant or customer owns."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import httpx

from benchmarks.attack.cases import Lost, attack, require
from benchmarks.attack.scene import Scene, Transfer, make_record
from infra.reference.authorisation import KEYS, list_calls
from services.app import build_openapi_document

UNAUTHENTICATED, FORBIDDEN, TOO_MANY, FAILED = 401, 403, 429, 500
SETTLE_PATIENCE_S = 30.0
METHODS = ("get", "post", "put", "patch", "delete")
BODIES: Mapping[str, Any] = {
    "PATCH /v1/endpoints/{endpoint_id}": {"aliases": ["taken"]},
    "PATCH /v1/keys/{key_id}": {"weight": 2.0},
    "PATCH /v1/price-books/{book_id}": {"energy_cost_per_kwh": "0.25"},
    "POST /v1/releases/{release_id}/publish": {"reason": "looked at"},
    "POST /v1/transfers/{transfer_id}/complete": {"records": [], "heartbeats": [], "status": "failed"},
}
OWN_EVEN_SO = {
    "POST /v1/transfers/{transfer_id}/complete": "agents name transfers: it is the caller's own",
    "POST /v1/transfers/{transfer_id}/heartbeats": "the same",
    "PUT /v1/devices/{name}": "the caller gets a profile of its own of that name",
    "GET /v1/devices/{name}": "names of profiles are anybody's",
    "PUT /v1/regions/{region}": "the caller gets a region of its own of that name",
}
"""Calls that another tenant may answer by something of the caller, and why."""

SPARED = ("DELETE /v1/warehouse/credentials", "POST /v1/warehouse/exports")
"""Not made where permitted: other cases need what they end."""


def list_operations() -> Iterator[tuple[str, str]]:
    """Yield method and path of each operation of the API."""
    for path, item in build_openapi_document()["paths"].items():
        for method in METHODS:
            if method in item and path.startswith("/v1"):
                yield method.upper(), path


def call(client: httpx.Client, method: str, path: str, body: Any = None) -> int:
    """Return the status; a call that comes too often is made again. Bodies of answers are not waited for."""
    while True:
        with client.stream(method, path, **({} if body is None else {"json": body})) as answer:
            if answer.status_code != TOO_MANY:
                return answer.status_code
        time.sleep(1.0)


def fill(path: str, known: Mapping[str, str]) -> str:
    """Return the path with known things, or with what does not exist."""
    return re.sub(r"{(\w+)}", lambda place: known.get(place[1], _invent(place[1])), path)


def _invent(place: str) -> str:
    return {"release_id": str(2**31 - 1), "name": "nothing", "kind": "throughput"}.get(place, str(uuid4()))


def find_victims_things(scene: Scene) -> Mapping[str, str]:
    """Return one of each thing that the victim's tenant owns, made once."""
    if not scene.things:
        root = scene.victim.root

        def first(path: str) -> dict[str, Any]:
            found: dict[str, Any] = root.get(path).raise_for_status().json()[0]
            return found

        endpoint = root.post("/v1/endpoints", json={"name": f"end {uuid4()}"}).raise_for_status().json()
        book = root.post("/v1/price-books", json={"name": f"prices {uuid4()}", "currency": "EUR"}).json()
        link = first("/v1/links")["id"]
        transfer = Transfer(scene.customers[0])
        transfer.beat()
        rows = json.dumps(make_record(None)).encode() + b"\nno row\n"
        batch = scene.customers[0].post("/v1/logs", content=rows).raise_for_status().json()
        scene.things = {
            "endpoint_id": endpoint["id"],
            "key_id": first("/v1/keys")["id"],
            "link_id": link,
            "cluster_id": first(f"/v1/links/{link}/clusters")["id"],
            "release_id": str(first("/v1/releases")["id"]),
            "book_id": book["id"],
            "tier_id": first("/v1/sla-tiers")["tier_id"],
            "transfer_id": transfer.id,
            "batch_id": batch["batch_id"],
        }
    return scene.things


def take_snapshot(client: httpx.Client) -> Mapping[str, str]:
    """Return all lists of a client once they stand still: the journal of heartbeats is stored with a delay."""
    deadline_s, before = time.monotonic() + SETTLE_PATIENCE_S, _read_lists(client)
    while time.monotonic() < deadline_s:
        time.sleep(1.0)
        if before == (before := _read_lists(client)):
            break
    return before


def _read_lists(client: httpx.Client) -> Mapping[str, str]:
    found = {}
    for method, path in list_operations():
        if method == "GET" and "{" not in path and not path.startswith(("/v1/warehouse", "/v1/usage")):
            answer = client.get(path)
            text = re.sub(
                r'"(made_at|last_used_at|heard_at|last_heartbeat_at|ended_at|status|state)":("[^"]*"|null)',
                "",
                answer.text,
            )
            found[path] = text
    return found


@attack("scope × route")
def every_call_as_every_scope(scene: Scene) -> int:
    permitted = {(each.method, each.path): each.permitted for each in list_calls() if not each.is_page}
    wrong, made = [], 0
    callers = {None: scene.open_client()} | {scope: scene.hostile.by_scope[scope] for scope in KEYS}
    for method, path in list_operations():
        require((method, path) in permitted, f"{method} {path} has no known rights")
        may = permitted[method, path]
        for scope, client in callers.items():
            allowed = may is None or (scope is not None and scope in may)
            if allowed and f"{method} {path}" in SPARED:
                continue
            body: dict[str, Any] | None = {} if method in ("POST", "PUT", "PATCH") else None
            status = call(client, method, fill(path, {}), body)
            made += 1
            if (status in (UNAUTHENTICATED, FORBIDDEN)) == allowed or status >= FAILED:
                wrong.append(f"{method} {path} as {scope or 'anybody'}: {status}")
    require(not wrong, "; ".join(wrong[:5]))
    return made


@attack("tenant × tenant")
def objects_of_another_tenant_by_their_address(scene: Scene) -> int:
    things, before = find_victims_things(scene), take_snapshot(scene.victim.root)
    wrong, made = [], 0
    for method, path in list_operations():
        name = f"{method} {path}"
        if not re.search(r"{(\w+)}", path):
            continue
        ways = [fill(path, things), fill(path, things) + "%00", fill(path, things) + f"?tenant_id={scene.victim.id}"]
        for address in ways:
            status = call(scene.hostile.root, method, address, BODIES.get(name, {} if method != "GET" else None))
            made += 1
            if (status < FORBIDDEN and name not in OWN_EVEN_SO) or status >= FAILED:
                wrong.append(f"{name}: {status}")
    require(not wrong, "; ".join(wrong[:5]))
    _require_unchanged(before, take_snapshot(scene.victim.root))
    return made


@attack("tenant × tenant")
def objects_of_another_tenant_in_lists(scene: Scene) -> int:
    return _require_no_mention(scene.hostile.root, find_victims_things(scene))


@attack("tenant × tenant")
def objects_of_another_tenant_in_bodies(scene: Scene) -> int:
    things, root = find_victims_things(scene), scene.hostile.root
    copied = call(root, "POST", "/v1/price-books", {"name": "stolen", "copy_of": things["book_id"]})
    require(copied >= FORBIDDEN, f"a price book of another tenant is copied: {copied}")
    answer = root.post("/v1/recommend", json=Transfer(scene.customers[1]).request)
    require(answer.json()["source"] == "heuristic", f"another tenant's model answers: {answer.json()['source']}")
    with_header = root.get("/v1/links", headers={"X-Tenant": str(scene.victim.id), "Tradewind-Tenant": "victim"})
    require(things["link_id"] not in with_header.text, "a header names the tenant")
    return 3


@attack("customer × customer")
def objects_of_another_customer_by_their_address(scene: Scene) -> int:
    things, (owner, rival) = find_victims_things(scene), scene.customers
    before, wrong, made = take_snapshot(owner), [], 0
    for method, path in list_operations():
        places = re.findall(r"{(\w+)}", path)
        if not {"transfer_id", "batch_id"} & set(places):
            continue
        status = call(
            rival, method, fill(path, things), BODIES.get(f"{method} {path}", {} if method != "GET" else None)
        )
        made += 1
        if status < FORBIDDEN or status >= FAILED:
            wrong.append(f"{method} {path}: {status}")
    require(not wrong, "; ".join(wrong[:5]))
    _require_unchanged(before, take_snapshot(owner))
    return made


@attack("customer × customer")
def objects_of_another_customer_in_lists(scene: Scene) -> int:
    things = find_victims_things(scene)
    own = {place: things[place] for place in ("transfer_id", "batch_id", "key_id")}
    return _require_no_mention(scene.customers[1], own)


def _require_no_mention(client: httpx.Client, things: Mapping[str, str]) -> int:
    made = 0
    secrets = {place: value for place, value in things.items() if len(value) > len("2147483647")}
    for method, path in list_operations():
        if method != "GET" or "{" in path:
            continue
        text, made = client.get(path).text, made + 1
        shown = [place for place, value in secrets.items() if value in text]
        require(not shown, f"GET {path} shows {', '.join(shown)}")
    return made


def _require_unchanged(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    for path, text in before.items():
        if text != after[path]:
            place = next((at for at, both in enumerate(zip(text, after[path], strict=False)) if len(set(both)) > 1), 0)
            was, is_now = (each[max(place - 60, 0) : place + 60] for each in (text, after[path]))
            raise Lost(f"the owner's {path} changed: {was} → {is_now}")
