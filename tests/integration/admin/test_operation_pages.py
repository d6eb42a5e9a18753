"""Pages of operators: logs and their quarantine, limits, releases; each number is of rows, each form is checked."""

import json
import re
from html import unescape

import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.application.limits.caps import LimitScope
from services.application.logs import quarantine_room
from services.application.logs.correct_rows import RejectionReason, retry_rows
from services.application.logs.quarantine_room import QuarantineUse
from services.application.logs.rows import MAX_RAW_BYTES
from tests.integration.admin.visitors import person, signed_in
from tests.integration.agent.support.command import environment, run
from tests.integration.live_transfers import DESTINATION, Transfer, client, learned
from tests.integration.models import test_releases as releases
from tests.integration.models.refreshes import Refreshes
from tests.records import record

__all__ = ["client", "learned"]


@pytest.fixture
def operator(parts, api, tenant):
    with signed_in(api, person(parts, tenant)) as visitor:
        yield visitor


def upload(api, tenant, *records):
    with tenant.client(api) as agent:
        return agent.post("/v1/logs", content="\n".join(map(json.dumps, records)))


def quarantined(parts, tenant):
    with parts.store.unit_of_work(tenant.id) as uow:
        return uow.quarantine.list_page(limit=10)


def test_batches_and_refused_rows_are_counted_as_they_are_stored(parts, api, tenant, operator):
    assert "No logs yet" in operator.get("/admin/logs").text
    good, bad = record(), record() | {"source": ""}
    assert upload(api, tenant, good, bad).status_code == 201
    assert upload(api, tenant, good, record()).status_code == 201
    page = operator.get("/admin/logs").text
    assert "1 row in the quarantine" in page
    cells = [re.sub(r"<[^>]+>|\s", "", cell) for cell in re.findall(r'<td class="number">(.*?)</td>', page, re.DOTALL)]
    assert cells == ["1", "1", "1", "0", "1", "0", "1"]  # by reason; then of each batch, the newest first


@pytest.mark.usefixtures("stores_in_this_process")
def test_page_says_how_many_rows_had_no_room_in_the_quarantine(api, tenant, operator, monkeypatch):
    monkeypatch.setattr(quarantine_room, "OF_KEY", QuarantineUse(rows=1, bytes=10_000))
    upload(api, tenant, *({"number": number} for number in range(4)))
    assert "3 without room in the quarantine: not stored" in operator.get("/admin/logs").text


def test_rows_that_are_changed_change_the_numbers_of_logs_releases_and_links(parts, api, tenant, admin_database_url):
    upload(api, tenant, record(destination="omega"))
    release = releases.refresh(tenant)
    with parts.store.unit_of_work(tenant.id) as uow:
        (link,) = uow.links.list_all()
    with signed_in(api, person(parts, tenant)) as visitor:
        pages = ("/admin/logs", f"/admin/releases/{release}", f"/admin/links/{link.id}")
        before = [visitor.get(each).text for each in pages]
        with psycopg.connect(admin_database_url) as admin:
            whose = [tenant.id]
            admin.execute("UPDATE batches SET accepted = 77123 WHERE tenant_id = %s", whose)
            changed = """UPDATE release_links SET verdict = verdict || '{"accuracy": 0.4321}' WHERE release_id = %s"""
            admin.execute(changed, [release])
            admin.execute("UPDATE links SET rows = 65432 WHERE id = %s", [link.id])
        after = [visitor.get(each).text for each in pages]
    for number, old, new in zip(("77\u202f123", "43 %", "65\u202f432"), before, after, strict=True):
        assert number not in old
        assert number in new


def test_quarantined_row_is_corrected_and_stored(parts, api, tenant, operator):
    refused = record() | {"source": ""}
    upload(api, tenant, refused, record())
    (row,) = quarantined(parts, tenant)
    still_wrong = operator.submit(f"/admin/logs/quarantine/{row.id}/retry", raw=json.dumps(refused))
    assert still_wrong.status_code == 422
    assert "source" in still_wrong.text.lower()
    assert len(quarantined(parts, tenant)) == 1
    mended = json.dumps(refused | {"source": "site A"}, indent=1).replace("\n", " ")
    assert operator.submit(f"/admin/logs/quarantine/{row.id}/retry", raw=mended).status_code == 303
    assert quarantined(parts, tenant) == []
    with parts.store.unit_of_work(tenant.id) as uow:
        assert {link.key.source for link in uow.links.list_all()} >= {"site A"}
        assert uow.audit.list_page(limit=1)[0].action == "quarantine.mended"
    again = operator.submit(f"/admin/logs/quarantine/{row.id}/retry", raw=mended)
    assert again.status_code == 404


def test_rows_of_one_reason_and_then_all_are_dismissed_on_the_page(parts, api, tenant, operator):
    nameless, backwards = record() | {"source": ""}, record(7) | {"ended_at": "2020-01-01T00:00:00Z"}
    upload(api, tenant, nameless, backwards, record() | {"source": ""}, record())
    by_field = {each.field: each for each in quarantined(parts, tenant)}
    chosen = by_field["source"]
    page = operator.get("/admin/logs/quarantine", params={"field": chosen.field, "reason": chosen.reason}).text
    assert "Dismiss all 2 rows of this reason for good?" in page
    form = {"field": chosen.field, "reason": chosen.reason}
    assert operator.submit("/admin/logs/quarantine/dismiss-all", **form).status_code == 303
    assert [each.id for each in quarantined(parts, tenant)] == [
        next(each.id for field, each in by_field.items() if field != "source")
    ]
    assert operator.submit("/admin/logs/quarantine/dismiss-all").status_code == 303
    assert quarantined(parts, tenant) == []
    assert operator.submit("/admin/logs/quarantine/dismiss-all").status_code == 404


def test_rows_of_one_reason_are_found_and_tried_again_together(parts, api, tenant, operator):
    nameless, backwards = record() | {"source": ""}, record(7) | {"ended_at": "2020-01-01T00:00:00Z"}
    upload(api, tenant, nameless, backwards, record())
    by_field = {each.field: each for each in quarantined(parts, tenant)}
    wanted = by_field["source"]
    address = re.search(r'href="(/admin/logs/quarantine\?field=source[^"]*)"', operator.get("/admin/logs").text)[1]
    text = operator.get(unescape(address)).text
    assert "<strong>1 row</strong> refused for" in text
    assert text.count("<textarea") == 1
    of_reason = {"field": wanted.field, "reason": wanted.reason}
    still = operator.submit("/admin/logs/quarantine/retry-all", **of_reason)
    assert still.status_code == 422
    assert "all 1 rows are rejected again" in still.text
    assert len(quarantined(parts, tenant)) == 2
    with parts.store.unit_of_work(tenant.id) as uow:  # corrected, as a newer service corrects a row that it understands
        mended = json.dumps(nameless | {"source": "site A"})
        uow.connection.exec_driver_sql(
            "UPDATE log_quarantine SET raw = %(raw)s WHERE id = %(id)s", {"raw": mended, "id": wanted.id}
        )
        uow.commit()
    assert operator.submit("/admin/logs/quarantine/retry-all", **of_reason).status_code == 303
    assert [each.field for each in quarantined(parts, tenant)] == [
        by_field[next(f for f in by_field if f != "source")].field
    ]
    assert operator.submit("/admin/logs/quarantine/retry-all", **of_reason).status_code == 404
    with parts.store.unit_of_work(tenant.id) as uow:
        assert uow.audit.list_page(limit=1)[0].action == "quarantine.retried"


def test_rows_that_are_refused_again_for_another_reason_are_not_subtracted_from_those_left(
    parts, api, tenant, operator
):
    nameless = [record(number) | {"source": ""} for number in range(3)]
    upload(api, tenant, *nameless, record(4))
    rows = sorted(quarantined(parts, tenant), key=lambda each: each.id)
    with parts.store.unit_of_work(tenant.id) as uow:
        for row, changed in zip(rows, ({}, {"destination": ""}, {"destination": ""}), strict=True):
            uow.connection.exec_driver_sql(
                "UPDATE log_quarantine SET raw = %(raw)s WHERE id = %(id)s",
                {"raw": json.dumps(nameless[row.row - 1] | {"source": "site A"} | changed), "id": row.id},
            )
        uow.commit()
    with parts.store.unit_of_work(tenant.id) as uow:
        retried = retry_rows(RejectionReason(rows[0].field, rows[0].reason), uow=uow, clock=parts.clock)
    assert retried == (1, 2, 0)


def test_a_line_is_tried_again_as_it_came_or_not_at_all(parts, api, tenant, operator):
    separated = record(destination="") | {"source": "a\u2028b"}
    of_latin_1 = json.dumps(record(1) | {"source": "caf\u00e9"}, ensure_ascii=False).encode("latin-1")
    of_nul = json.dumps(record(2)).replace("alpha", "al\x00pha").encode()
    long = json.dumps(record(3) | {"source": "", "note": "x" * MAX_RAW_BYTES}).encode()
    first, good = json.dumps(separated, ensure_ascii=False).encode(), json.dumps(record(4)).encode()
    lines = [first, of_latin_1, of_nul, long, good]
    with tenant.client(api) as agent:
        agent.post("/v1/logs", content=b"\n".join(lines)).raise_for_status()
    kept = {each.row: each for each in quarantined(parts, tenant)}
    assert {row: each.raw is not None for row, each in kept.items()} == {1: True, 2: False, 3: False, 4: False}
    assert operator.get("/admin/logs/quarantine").text.count("The line was not stored") == 3
    mended = kept[1].raw.replace('"destination": ""', '"destination": "omega"')
    assert operator.submit(f"/admin/logs/quarantine/{kept[1].id}/retry", raw=mended).status_code == 303
    with parts.store.unit_of_work(tenant.id) as uow:
        assert separated["source"] in {link.key.source for link in uow.links.list_all()}


def test_long_work_reports_its_progress(parts, api, tenant, operator):
    upload(api, tenant, record())
    with parts.store.unit_of_work(tenant.id) as uow:
        uow.release_work.begin(parts.clock.now())
        uow.commit()
    page = operator.get("/admin/logs").text
    assert '<progress max="1" value="0" aria-label="Fits">' in page
    assert "0 of 1 link" in page
    with operator.stream("GET", "/admin/logs/work/live") as told:
        assert "0 of 1 link" in next(line for line in told.iter_lines() if "progress" in line)
    exports = operator.get("/admin/logs/exports").text
    assert "TRADEWIND_EXPORT" in exports
    assert operator.submit("/admin/logs/exports").status_code == 409
    with signed_in(api, person(parts, tenant, "analyst")) as other:
        assert other.get("/admin/logs/exports").status_code == 403
        assert other.submit("/admin/logs/exports").status_code == 403


@pytest.mark.parametrize("raw", ["not json", "{}\n{}", "[]", '{"id": 5}'])
def test_invalid_row_stays_in_the_quarantine(parts, api, tenant, operator, raw):
    upload(api, tenant, record() | {"source": ""}, record())
    (row,) = quarantined(parts, tenant)
    assert operator.submit(f"/admin/logs/quarantine/{row.id}/retry", raw=raw).status_code == 422
    assert len(quarantined(parts, tenant)) == 1


def test_a_row_is_dismissed_by_its_own_tenant_alone(parts, api, tenant, operator, learned):
    upload(api, tenant, record() | {"source": "<b>"}, record() | {"source": ""}, record())
    row = quarantined(parts, tenant)[0]
    with signed_in(api, person(parts, learned)) as stranger:
        assert stranger.submit(f"/admin/logs/quarantine/{row.id}/dismiss").status_code == 404
    assert operator.submit(f"/admin/logs/quarantine/{row.id}/dismiss").status_code == 303
    assert row not in quarantined(parts, tenant)


def test_a_limit_is_set_shown_with_what_is_held_and_removed(parts, api, learned, client):
    with signed_in(api, person(parts, learned, "provider")) as provider:
        fields = {"scope": "link", "source": "origin", "destination": DESTINATION}
        assert provider.submit("/admin/limits", **fields, streams="64").status_code == 303
        Transfer(client).beat(0)
        page = provider.get("/admin/limits").text
        assert f"link origin → {DESTINATION}" in page
        assert re.search(r"(\d+) of 64", page)[1] != "0"
        assert provider.submit("/admin/limits", **fields).status_code == 303
        assert "Nothing is limited" in provider.get("/admin/limits").text


WORDS_OF_THE_FORM = {
    "streams": "Streams must be 1–32,767",
    "source": "Endpoint, or from",
    "destination": "To is needed",
    "endpoint": "Endpoint, or from",
    "scope": "Scope must be",
}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"scope": "tenant", "streams": "0"}, "streams"),
        ({"scope": "tenant", "streams": "-3"}, "streams"),
        ({"scope": "tenant", "streams": "many"}, "streams"),
        ({"scope": "tenant", "streams": "1000000"}, "streams"),
        ({"scope": "tenant", "source": "a", "streams": "3"}, "source"),
        ({"scope": "link", "source": "a", "streams": "3"}, "destination"),
        ({"scope": "endpoint", "streams": "3"}, "endpoint"),
        ({"scope": "planet", "streams": "3"}, "scope"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_by_its_field(parts, operator, tenant, fields, field):
    answer = operator.submit("/admin/limits", **fields)
    assert answer.status_code == 422
    assert WORDS_OF_THE_FORM[field] in answer.text
    with parts.store.unit_of_work(tenant.id) as uow:
        assert uow.limits.list_all() == []


def test_a_release_is_judged_and_rolled_back(parts, api, learned, logs):
    with learned.client(api) as agent:
        agent.post("/v1/logs", content=json.dumps(record(source="origin", destination="elsewhere"))).raise_for_status()
    assert Refreshes(learned, logs).run() is not None
    with signed_in(api, person(parts, learned)) as operator, signed_in(api, person(parts, learned, "analyst")) as other:
        newest = int(re.search(r"/admin/releases/(\d+)", operator.get("/admin/releases").text)[1])
        assert "Link by link" in operator.get(f"/admin/releases/{newest}").text
        assert other.submit(f"/admin/releases/{newest}/rollback").status_code == 403
        assert operator.submit(f"/admin/releases/{newest}/rollback").status_code == 303
        assert "rolled back" in operator.get("/admin/releases").text
        assert operator.submit(f"/admin/releases/{newest}/rollback").status_code == 409
        assert operator.get("/admin/releases/999999").status_code == 404


def test_a_release_that_was_rolled_back_is_compared_and_made_current_with_a_reason(parts, api, tenant, tmp_path):
    row = record(destination="omega")
    upload(api, tenant, row)
    before = releases.refresh(tenant)
    upload(api, tenant, record(1, destination="omega"), record(2, destination="sigma"))
    after = releases.refresh(tenant)
    here = f"/admin/releases/{after}"
    user = environment(tmp_path, TRADEWIND_URL=api, TRADEWIND_KEY=tenant.secret)
    why = {"reason": "its tiers are what customers were promised"}
    with signed_in(api, person(parts, tenant)) as operator, tenant.client(api, Scope.OPERATOR) as client:
        assert operator.submit(f"{here}/publish", **why).status_code == 409
        assert operator.submit(f"{here}/rollback").status_code == 303
        assert "sigma" not in operator.get(f"/admin/releases/{before}").text  # which came after it
        told = client.get(f"/v1/releases/{after}/comparison").json()
        assert (told["in_force"], told["same"]) == (before, 0)
        assert {each["destination"]: each["change"] for each in told["links"]} == {
            "omega": "changed",
            "sigma": "gained",
        }
        text = " ".join(operator.get(here).text.split())
        assert "change the model of 1 link, add 1 link and lose 0" in text
        assert f"{told['tiers_gained']} come and {told['tiers_lost']} go" in text
        by_command = run("releases", "compare", str(after), "--json", env=user)
        assert by_command.document == told
        for reason in ("", "  ", "no", "x" * 501, "a\nb"):
            assert operator.submit(f"{here}/publish", reason=reason).status_code == 422
        assert releases.current(tenant) == before
        assert operator.submit(f"{here}/publish", **why).status_code == 303
        assert releases.current(tenant) == after
        audit = operator.get("/admin/audit?about=release").text
        assert why["reason"] in audit
        assert client.post(f"/v1/releases/{after}/rollback").json()["id"] == before
        assert run("releases", "publish", str(after), "--reason", why["reason"], "--json", env=user).document["current"]
        assert client.post(f"/v1/releases/{before}/publish", json=why).status_code == 409
    with signed_in(api, person(parts, tenant, "provider")) as other:
        assert other.submit(f"{here}/publish", **why).status_code == 403


@pytest.mark.parametrize("scope", LimitScope)
def test_every_place_of_a_limit_has_words(scope, operator):
    names = {
        LimitScope.TENANT: {},
        LimitScope.ENDPOINT: {"source": "a"},
        LimitScope.LINK: {"source": "a", "destination": "b"},
    }
    assert operator.submit("/admin/limits", scope=scope, concurrency="3", **names[scope]).status_code == 303
    assert f">{scope}" in operator.get("/admin/limits").text.replace("link a → b", "link").replace(
        "endpoint a", "endpoint"
    )
