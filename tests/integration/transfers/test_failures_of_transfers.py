"""An agent says why a transfer failed: the service stores a kind and a sentence without secrets."""

from typing import Any

import httpx

from services.bootstrap import Container
from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import Transfer, client, learned, transfer
from tests.integration.transfers.test_journal import timeline
from tests.integration.transfers.test_transfers_api import complete, completion
from tests.stack import Tenant

__all__ = ["client", "learned", "transfer"]

SENTENCE = "1 of 10 files failed, first https://ann:hush@store.example/a?sig=hush: the server answered 403 Forbidden"
STORED = "1 of 10 files failed, first https://…@store.example/a?…"
FAILURE = {"kind": "permission", "reason": SENTENCE}


def failed(transfer_id: Any, failure: dict[str, str] | None = FAILURE) -> dict[str, Any]:
    sent = completion(transfer_id)
    sent["records"][0]["outcome"] |= {"status": "failed", "failure": failure}
    return sent


def test_failure_of_a_record_is_stored_without_secrets_and_shown(
    api: str, parts: Container, learned: Tenant, transfer: Transfer, client: httpx.Client
) -> None:
    first = complete(client, transfer.id, failed(transfer.id))
    assert first["accepted"] == 1
    stored = timeline(client, transfer)["transfer"]
    assert (stored["status"], stored["failure_kind"]) == ("failed", "permission")
    assert stored["failure"].startswith(STORED)
    sql = f"SELECT failure_kind, failure, failure_reason FROM transfer_slas WHERE transfer_id = '{transfer.id}'"
    with learned.client(api) as analyst:
        (row,) = analyst.post("/v1/warehouse/query", json={"sql": sql}).raise_for_status().json()["rows"]
    assert (row["failure_kind"], row["failure_reason"]) == ("permission", "failed")
    assert row["failure"] == stored["failure"]
    with signed_in(api, person(parts, learned, "provider", "operator")) as visitor:
        page = visitor.get(f"/admin/transfers/{transfer.id}").text
        assert "Reported by its agent (permission)" in page
        rows = visitor.get("/admin/transfers").text
        assert ">permission</small>" in rows
    assert "hush" not in page + rows + stored["failure"]


def test_failure_without_records_is_stored(transfer: Transfer, client: httpx.Client) -> None:
    ticks = [{"heartbeat": transfer.body(0, enquiry=transfer.enquiry)}]
    sent = {"heartbeats": ticks, "status": "failed", "failure": FAILURE | {"kind": "no_space"}}
    complete(client, transfer.id, sent)
    stored = timeline(client, transfer)["transfer"]
    assert (stored["failure_kind"], stored["failure"].startswith(STORED)) == ("no_space", True)


def test_successful_transfer_has_no_failure_and_kinds_are_a_closed_list(
    transfer: Transfer, client: httpx.Client
) -> None:
    sent = completion(transfer.id)
    sent["records"][0]["outcome"] |= {"failure": FAILURE}
    for wrong in ({"kind": "weather"}, {"kind": "other", "reason": "x" * 301}, {"kind": "other", "advice": "x"}):
        answer = client.post(f"/v1/transfers/{transfer.id}/complete", json=failed(transfer.id, wrong))
        assert answer.status_code == 422, answer.text
    complete(client, transfer.id, sent)
    stored = timeline(client, transfer)["transfer"]
    assert (stored["status"], stored["failure_kind"]) == ("succeeded", None)


def test_success_without_records_has_no_failure_however_often_it_is_reported(
    transfer: Transfer, client: httpx.Client
) -> None:
    ticks = [{"heartbeat": transfer.body(0, enquiry=transfer.enquiry)}]
    for status in ("succeeded", "failed"):
        complete(client, transfer.id, {"heartbeats": ticks, "status": status, "failure": FAILURE})
        stored = timeline(client, transfer)["transfer"]
        assert (stored["status"], stored["failure_kind"], stored["failure"]) == ("succeeded", None, None)
