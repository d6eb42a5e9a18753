"""People signed in to the pages by plain HTTP."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import httpx
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from services.application.access.users import ROLES
from services.bootstrap import Container
from tests.stack import Tenant

PASSWORD = "a password of my own"
OTHER_PASSWORD = "one more of mine"
HASH = PasswordHash((Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1),)).hash(PASSWORD)
"""Lighter than the service's own, which costs each sign-in of each test a tenth of a second of all processors."""


@dataclass(frozen=True)
class Person:
    login: str
    tenant: Tenant


def person(parts: Container, tenant: Tenant, *roles: str) -> Person:
    """Somebody who has chosen a password already."""
    login = f"somebody-{uuid4()}"
    with parts.store.unit_of_work(tenant.id) as uow:
        user = uow.users.add(login, HASH, roles or ROLES, at=parts.clock.now())
        uow.users.set_password(user.id, HASH, must_change=False)
        uow.commit()
    return Person(login, tenant)


class Visitor(httpx.Client):
    """A client with a session; what it posts carries the token of its session."""

    def sign_in(self, person: Person, password: str = PASSWORD) -> httpx.Response:
        return super().post("/admin/sign-in", data={"login": person.login, "password": password})

    @property
    def token(self) -> str:
        return re.search(r'name="form_token" value="(\w+)"', self.get("/admin/account").text)[1]

    def submit(self, address: str, /, **fields) -> httpx.Response:
        return self.post(address, data=fields | {"form_token": self.token})


@contextmanager
def signed_in(api: str, person: Person) -> Iterator[Visitor]:
    with Visitor(base_url=api, timeout=60) as visitor:
        assert visitor.sign_in(person).status_code == 303
        yield visitor


def entries(parts, tenant, about):
    """What the log of changes has about something: action, who did it, to what."""
    with parts.store.unit_of_work(tenant.id) as uow:
        return [(entry.action, entry.actor, entry.subject) for entry in uow.audit.list_page(limit=50, about=about)]
