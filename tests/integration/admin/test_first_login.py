"""The first person, whom `./run serve` makes, and how the host lets somebody in again."""

import re

import pytest

from services.application.access.authenticate import Scope
from services.application.access.users import disable_user
from services.data_folder import AGENT_KEY
from services.prepare import FIRST_TENANT, issue_key, issue_login
from services.serve import announce, ensure_first_key, ensure_first_login
from services.settings import Settings
from tests.integration.admin.visitors import PASSWORD, Person, Visitor, person


def test_the_first_password_opens_nothing_but_the_choice_of_another(parts, api, tenant, tmp_path):
    issue_key(parts, tenant=FIRST_TENANT, name="this machine", scopes=tuple(Scope))
    kept = tmp_path / "password"
    told = ensure_first_login(parts, kept)
    login, first = re.fullmatch(r"(\w+), password (\S+) \(the pages ask for another one first\)", told).groups()
    assert (kept.read_text().strip(), kept.stat().st_mode & 0o777) == (first, 0o600)
    assert ensure_first_login(parts, kept) == told, "until it is changed it is told again"
    with Visitor(base_url=api, timeout=60) as visitor:
        assert visitor.sign_in(Person(login, tenant), first).status_code == 303
        for page in ("/admin", "/admin/keys", "/admin/users", "/admin/sql", "/admin/transfers/live"):
            assert visitor.get(page).headers["location"] == "/admin/account"
        assert visitor.submit("/admin/keys", name="mine", scopes="agent").headers["location"] == "/admin/account"
        assert visitor.submit("/admin/account/database-login").headers["location"] == "/admin/account"
        same = visitor.submit("/admin/account/password", old=first, new=first, again=first)
        assert (same.status_code, "another one than before" in same.text) == (422, True)
        assert visitor.submit("/admin/account/password", old=first, new=PASSWORD, again=PASSWORD).status_code == 303
        assert visitor.get("/admin/keys").status_code == 200
    assert "with the password that you chose" in ensure_first_login(parts, kept)
    assert not kept.exists()
    with Visitor(base_url=api, timeout=60) as visitor:
        assert visitor.sign_in(Person(login, tenant), first).status_code == 401


def test_the_key_that_may_do_everything_is_shown_by_the_start_that_makes_it_only(parts, tmp_path, capsys):
    settings = Settings.from_environment({}, data_folder=tmp_path)
    first = ensure_first_key(parts, tmp_path / AGENT_KEY)
    announce(settings, first, "admin")
    shown = capsys.readouterr().out
    assert shown.count(first.secret) == 1
    again = ensure_first_key(parts, tmp_path / AGENT_KEY)
    assert (again.secret, again.is_new, first.is_new) == (first.secret, False, True)
    announce(settings, again, "admin")
    shown = capsys.readouterr().out
    assert first.secret not in shown
    assert str(tmp_path / AGENT_KEY) in shown
    assert (tmp_path / AGENT_KEY).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("password", ["aaaaaaaaaaaa", "Password1234"])
def test_common_passwords_are_refused(parts, api, tenant, password):
    operator = person(parts, tenant)
    with Visitor(base_url=api, timeout=60) as visitor:
        visitor.sign_in(operator)
        refused = visitor.submit("/admin/account/password", old=PASSWORD, new=password, again=password)
    assert refused.status_code == 422


def test_name_of_the_tenant_is_no_password(parts, api, tenant):
    operator, password = person(parts, tenant), f"{str(tenant.id)[:8]}-2026"  # the tenant is named by its ID
    with Visitor(base_url=api, timeout=60) as visitor:
        visitor.sign_in(operator)
        refused = visitor.submit("/admin/account/password", old=PASSWORD, new=password, again=password)
    assert (refused.status_code, "tried first" in refused.text) == (422, True)


def test_user_who_is_enabled_again_keeps_the_roles(parts, api, tenant):
    analyst = person(parts, tenant, "analyst")
    person(parts, tenant)  # somebody must stay an operator
    found = parts.store.registry.find_user(analyst.login)
    with parts.store.unit_of_work(tenant.id) as uow:
        disable_user(found.id, uow=uow, clock=parts.clock)
    password = issue_login(parts, tenant=f"tenant {tenant.id}", login=analyst.login)
    with parts.store.unit_of_work(tenant.id) as uow:
        assert uow.users.get(found.id).roles == {"analyst"}
        noted = [entry.action for entry in uow.audit.list_page(limit=3)]
    assert noted == ["user.password_reset", "user.enabled", "user.disabled"]
    with Visitor(base_url=api, timeout=60) as visitor:
        assert visitor.sign_in(analyst, password).status_code == 303
