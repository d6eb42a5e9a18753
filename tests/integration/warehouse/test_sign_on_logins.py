"""What somebody who signs in at a provider has opened here is closed with what the provider says of them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from services.application.access.sign_in import LONGEST_SESSION, SignIns, Visitor
from services.application.access.single_sign_on import Identity, SignOnRules, SingleSignOn
from services.application.access.users import remove_password, reset_password
from services.application.warehouse.database_accounts import create_personal_login
from tests.integration.admin.visitors import person
from tests.integration.warehouse.test_personal_logins import id_of
from tests.integration.warehouse.test_readers import postgres, provider
from tests.stack import Tenant, new_tenant
from tradewind.errors import Unauthenticated

__all__ = ["postgres", "provider"]

COUNT = "SELECT count(*) FROM transfers"
RULES = SignOnRules(
    tenant="",
    tenant_claim="tenant",
    login_claim="email",
    roles_claim="groups",
    roles={"ops": "operator", "data": "analyst", "prices": "provider"},
    creates_users=True,
)


@dataclass(frozen=True)
class At:
    """The clock of a process at this time."""

    instant: datetime

    def now(self) -> datetime:
        return self.instant


class Somebody:
    """A person at the provider, and the secret of the newest session here."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant, self.subject, self.secret = tenant, f"{uuid4()}@example.org", ""

    def sign_in(self, *groups: str, ago: timedelta = timedelta(), tenant: Tenant | None = None) -> None:
        parts, name = self.tenant.parts, f"tenant {(tenant or self.tenant).id}"
        registry, clock = parts.store.registry, At(parts.clock.now() - ago)
        ports = registry.find_tenant, registry.find_user, registry.find_identity, parts.store.unit_of_work
        claims = {"email": self.subject, "groups": list(groups), "tenant": name}
        identity = Identity(issuer="https://id.example.org", subject=self.subject, claims=claims)
        self.secret = SingleSignOn(RULES, *ports, clock).sign_in(identity)

    def is_in(self) -> bool:
        parts = self.tenant.parts
        registry = parts.store.registry
        ports = registry.find_user, registry.find_session, parts.store.unit_of_work, parts.clock, parts.passwords
        return SignIns(*ports).find_visitor(self.secret) is not None

    @property
    def roles(self) -> set[str]:
        with self.tenant.parts.store.unit_of_work(self.tenant.id) as uow:
            return next(set(user.roles) for user in uow.users.list_all() if user.login == self.subject)

    def database_login(self) -> str:
        """The address of a new one."""
        return database_login(self.tenant, self.subject)


def database_login(tenant: Tenant, name: str) -> str:
    parts = tenant.parts
    with parts.store.unit_of_work(tenant.id) as uow:
        user = next(user for user in uow.users.list_all() if user.login == name)
        login = create_personal_login(Visitor(tenant.id, user), uow=uow, clock=parts.clock)
    return parts.warehouse.build_address(login)


def opens(address: str) -> bool:
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError as refused:
        assert "password authentication failed" in str(refused)  # noqa: PT017 -- any other reason is none of this
        return False
    return True


@pytest.mark.parametrize("refused", ["no role", "another tenant"])
def test_refused_sign_in_leaves_no_session_and_no_database_login(
    provider: Tenant, database_url: str, refused: str
) -> None:
    ada = Somebody(provider)
    group, elsewhere = "gone", None
    if refused == "another tenant":
        group, elsewhere = "data", new_tenant(provider.parts, database_url)
    ada.sign_in("data")
    with psycopg.connect(ada.database_login()) as session:
        assert session.execute(COUNT).fetchone() == (3,)
        with pytest.raises(Unauthenticated, match=refused):
            ada.sign_in(group, tenant=elsewhere)
        with pytest.raises(psycopg.OperationalError):
            session.execute(COUNT)
    assert not ada.is_in()
    with provider.parts.store.unit_of_work(provider.id) as uow:
        noted = [entry.action for entry in uow.audit.list_page(limit=2)]
    assert noted == ["warehouse_login.revoked", "user.refused"]


def test_groups_that_make_no_analyst_any_more_take_the_database_login(provider: Tenant) -> None:
    ada = Somebody(provider)
    ada.sign_in("data", "prices")
    address = ada.database_login()
    assert opens(address)
    ada.sign_in("prices")
    assert (ada.is_in(), ada.roles, opens(address)) == (True, {"provider"}, False)


def test_a_database_login_ends_with_the_longest_session_and_each_sign_in_extends_it(provider: Tenant) -> None:
    ada = Somebody(provider)
    ada.sign_in("data", ago=LONGEST_SESSION + timedelta(minutes=1))
    address = ada.database_login()
    assert not opens(address)
    ada.sign_in("data")
    assert opens(address)


def test_user_with_a_local_password_has_a_database_login_without_expiry(provider: Tenant) -> None:
    local = person(provider.parts, provider, "analyst")
    address = database_login(provider, local.login)
    with provider.parts.store.unit_of_work(provider.id) as uow:
        login = uow.warehouse_logins.find_personal(id_of(local))
    assert login is not None
    assert (opens(address), login.valid_until) == (True, None)


@pytest.mark.parametrize("way", ["reset", "remove"])
def test_another_password_or_none_takes_the_database_login_of_a_perhaps_stolen_account(
    provider: Tenant, way: str
) -> None:
    parts, local = provider.parts, person(provider.parts, provider, "analyst")
    address = database_login(provider, local.login)
    assert opens(address)
    with parts.store.unit_of_work(provider.id) as uow:
        if way == "reset":
            reset_password(id_of(local), passwords=parts.passwords, uow=uow)
        else:
            remove_password(id_of(local), uow=uow)
    assert not opens(address)


def test_the_last_operator_stays_one_whatever_the_groups_say(provider: Tenant) -> None:
    ada, bob = Somebody(provider), Somebody(provider)
    ada.sign_in("ops")
    bob.sign_in("data")
    with pytest.raises(Unauthenticated, match="you are the last one here"):
        ada.sign_in("data")
    assert (ada.roles, ada.is_in()) == ({"operator"}, False)
    bob.sign_in("ops")
    ada.sign_in("data")
    assert (ada.roles, bob.roles) == ({"analyst"}, {"operator"})
