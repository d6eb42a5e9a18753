"""A person's own login for psql and notebooks: made on their page, and gone with the person or the role."""

import re
import subprocess
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from services.embedded.postgres import EmbeddedPostgres
from services.persistence.roles import READER
from tests.integration.admin.visitors import PASSWORD, Person, Visitor, person, signed_in
from tests.integration.warehouse.test_readers import postgres, provider
from tests.stack import Tenant, new_tenant

__all__ = ["postgres", "provider"]

COUNT = "SELECT count(*) FROM transfers"
MAKE, REVOKE = "/admin/account/database-login", "/admin/account/database-login/revoke"


def made(visitor: Visitor) -> str:
    """The address that the page shows, this once."""
    answer = visitor.submit(MAKE)
    assert answer.status_code == 201, answer.text
    shown = re.search(r'id="secret">([^<]+)<', answer.text)
    assert shown is not None
    return shown[1].replace("&amp;", "&")


def id_of(somebody: Person) -> UUID:
    with somebody.tenant.parts.store.unit_of_work(somebody.tenant.id) as uow:
        return next(user.id for user in uow.users.list_all() if user.login == somebody.login)


def test_user_creates_replaces_and_revokes_an_own_database_account(
    provider: Tenant, api: str, postgres: EmbeddedPostgres
) -> None:
    with signed_in(api, person(provider.parts, provider, "analyst")) as visitor:
        assert "You have none" in visitor.get("/admin/account").text
        first = made(visitor)
        done = subprocess.run(
            [str(postgres.program("psql")), first, "-XAtc", COUNT], capture_output=True, text=True, check=False
        )
        assert (done.stdout, done.stderr) == ("3\n", "")
        page = visitor.get("/admin/account").text
        assert first.split("//")[1].split(":")[0] in page
        assert first.split(":")[2].split("@")[0] not in page
        second = made(visitor)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(first)
        changed = {"old": PASSWORD, "new": "another password of mine", "again": "another password of mine"}
        assert visitor.submit("/admin/account/password", **changed).status_code == 303
        with psycopg.connect(second) as session:  # which has a password of its own
            assert session.execute(COUNT).fetchone() == (3,)
            assert visitor.submit(REVOKE).status_code == 303
            with pytest.raises(psycopg.OperationalError):
                session.execute(COUNT)
        assert visitor.submit(REVOKE).status_code == 404
    with provider.parts.store.unit_of_work(provider.id) as uow:
        noted = [entry.action for entry in uow.audit.list_page(limit=10, about="warehouse_login.")]
    assert noted == ["warehouse_login.revoked", "warehouse_login.replaced", "warehouse_login.created"]


def test_each_person_has_one_and_all_read_their_tenant_alone(provider: Tenant, api: str, database_url: str) -> None:
    stranger = new_tenant(provider.parts, database_url)
    addresses = []
    for tenant in (provider, provider, stranger):
        with signed_in(api, person(tenant.parts, tenant, "analyst")) as visitor:
            addresses.append(made(visitor))
    assert len(set(addresses)) == 3
    for address, rows in zip(addresses, (3, 3, 0), strict=True):
        with psycopg.connect(address, autocommit=True) as session:
            session.execute("SELECT set_config('tradewind.tenant', %s, false)", [str(provider.id)])
            assert session.execute(COUNT).fetchone() == (rows,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(READER)))


@pytest.mark.parametrize("by", ["disable", "roles"])
def test_it_goes_with_the_person_or_the_role(provider: Tenant, api: str, by: str) -> None:
    analyst = person(provider.parts, provider, "analyst", "provider")
    with signed_in(api, analyst) as visitor:
        address = made(visitor)
        with signed_in(api, person(provider.parts, provider)) as operator, psycopg.connect(address) as session:
            where = f"/admin/users/{id_of(analyst)}"
            operator.submit(f"{where}/roles", roles=["analyst", "operator"])
            assert session.execute(COUNT).fetchone() == (3,)
            operator.submit(f"{where}/{by}", **({"roles": "provider"} if by == "roles" else {}))
            with pytest.raises(psycopg.OperationalError):
                session.execute(COUNT)
            with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                psycopg.connect(address)
            operator.submit(f"{where}/enable")
        refused = visitor.get("/admin/account", follow_redirects=False)
        assert "Your database login" not in refused.text
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(address)


def test_user_who_is_no_analyst_gets_no_database_login(provider: Tenant, api: str) -> None:
    with signed_in(api, person(provider.parts, provider, "provider")) as visitor:
        assert "Your database login" not in visitor.get("/admin/account").text
        assert visitor.submit(MAKE).status_code == 403


BY_ITSELF = ("SET default_transaction_read_only = off", "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")


@pytest.mark.parametrize("where", ["here", "in another's default privileges", "in another database"])
def test_no_trace_that_a_login_leaves_keeps_a_person_from_being_shut_out(
    provider: Tenant, api: str, postgres: EmbeddedPostgres, where: str
) -> None:
    analyst = person(provider.parts, provider, "analyst")
    with signed_in(api, analyst) as visitor, signed_in(api, person(provider.parts, provider)) as operator:
        address, accomplice = made(visitor), made(operator)
        name = sql.Identifier(address.split("//")[1].split(":")[0])
        of_another = sql.SQL("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {}").format(name)
        elsewhere = sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(name)
        with psycopg.connect(address, autocommit=True) as session:
            if where == "in another database":
                with psycopg.connect(postgres.url(database="postgres")) as admin:
                    admin.execute(elsewhere)
            else:
                with psycopg.connect(accomplice if where != "here" else address, autocommit=True) as leaving:
                    leaving.execute(BY_ITSELF[0])
                    leaving.execute(BY_ITSELF[1] if where == "here" else of_another)
            assert operator.submit(f"/admin/users/{id_of(analyst)}/disable").status_code == 303
            with pytest.raises(psycopg.OperationalError):
                session.execute(COUNT)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(address)
        assert visitor.get("/admin/account", follow_redirects=False).status_code == 303
        operator.submit(f"/admin/users/{id_of(analyst)}/enable")
    with signed_in(api, analyst) as visitor, psycopg.connect(made(visitor)) as session:
        assert session.execute(COUNT).fetchone() == (3,)
