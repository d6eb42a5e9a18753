"""What no form of a page sends: refused with its field, or not found, and nothing is changed."""

import json
import re

import pytest

from services.admin.formatting.field_labels import LABELS
from services.admin.pages.limits import PLACES
from tests.integration.admin.visitors import Visitor, person, signed_in
from tests.records import record


@pytest.fixture
def operator(parts, api, tenant):
    with signed_in(api, person(parts, tenant)) as visitor:
        yield visitor


@pytest.mark.parametrize(
    ("address", "fields", "field"),
    [
        ("/admin/keys", {"name": "a\0", "scopes": "agent"}, "name"),
        ("/admin/keys", {"name": "a", "scopes": "planet"}, "scopes"),
        ("/admin/keys", {"name": "a", "scopes": ["agent"] * 5}, "scopes"),
        ("/admin/limits", {"scope": "endpoint", "source": "a\0", "streams": "3"}, "source"),
        ("/admin/limits", {"scope": "tenant", "source": "  ", "streams": "3"}, "source"),
        ("/admin/users", {"login": "a\0", "roles": "analyst"}, "login"),
        ("/admin/logs/quarantine/99999999999999999999/retry", {"raw": "{}"}, "row_id"),
        ("/admin/logs/quarantine/99999999999999999999/dismiss", {}, "row_id"),
        ("/admin/logs/quarantine/retry-all", {"field": "a\0", "reason": "b"}, "field"),
        ("/admin/logs/quarantine/retry-all", {"field": "a", "reason": "b\0"}, "reason"),
    ],
)
def test_a_form_is_refused_by_its_field_and_nothing_is_changed(parts, tenant, operator, address, fields, field):
    before = everything(parts, tenant)
    answer = operator.submit(address, **fields)
    assert answer.status_code == 422
    label = PLACES.get(field) or LABELS.get(field, field.capitalize())
    assert re.search(rf'role="alert">({label}|{field.capitalize()}) (must|is|does) ', answer.text), answer.text
    assert everything(parts, tenant) == before


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("/admin/sql/run", "/admin/sql"),
        ("/admin/sign-out", "/admin"),
        ("/admin/account/database-login", "/admin/account"),
        ("/admin/tiers/a%20b/name", "/admin/tiers"),
        ("/admin/tiers/a%20b/power_at_most/proposed", "/admin/tiers/a%20b/power_at_most"),
        ("/admin/price-books/1/prices", "/admin/price-books/1"),
        ("/admin/logs/quarantine/7/retry", "/admin/logs/quarantine"),
    ],
)
def test_the_address_of_a_form_leads_to_its_page(api, form, page):
    with Visitor(base_url=api) as visitor:
        answer = visitor.get(form)
    assert (answer.status_code, answer.headers["location"]) == (303, page)


def everything(parts, tenant):
    """What these forms could change, and the log of changes, which tells of any other."""
    with parts.store.unit_of_work(tenant.id) as uow:
        return (
            uow.keys.list_all(),
            uow.limits.list_all(),
            uow.users.list_all(),
            uow.quarantine.count(),
            uow.audit.list_page(limit=50),
        )


@pytest.mark.parametrize(
    "address",
    [
        "/admin/transfers?source=%00",
        "/admin/audit?about=%00",
        "/admin/audit?about=planet",
        "/admin/audit?before=x",
        "/admin/logs?before=x",
        "/admin/logs/quarantine?field=%00",
        "/admin/logs/quarantine?field=a&reason=%00",
        "/admin/logs/quarantine?before=99999999999999999999",
        "/admin/releases?before=x",
        "/admin/connections?before=x",
        "/admin/links?show=planet",
        "/admin/keys?page=0",
        "/admin/users?q=%00",
        "/admin/endpoints?planet=3",
        "/admin/price-books?page=x",
        "/admin/tiers?confidence=x",
        "/admin/tiers?kind=planet",
    ],
)
def test_a_filter_that_cannot_be_read_gives_an_empty_list_with_a_sentence(operator, api, tenant, address):
    with tenant.client(api) as agent:
        agent.post("/v1/logs", content=json.dumps(record())).raise_for_status()
    answer = operator.get(address)
    assert answer.status_code == 200
    assert re.search(r'role="alert">[A-Z][^<]+\.</p>', answer.text), answer.text
    rows = re.findall(r'<th scope="row">', answer.text.partition('role="alert"')[2])
    assert rows == []
    assert 'aria-label="Pages"' in answer.text


def test_a_login_with_a_control_character_is_refused(api):
    with Visitor(base_url=api) as visitor:
        answer = visitor.post("/admin/sign-in", data={"login": "a\0b", "password": "a guess of mine"})
    assert answer.status_code == 422
