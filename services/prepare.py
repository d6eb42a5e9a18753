"""Prepare a service: the database's roles and schema, a first API key and a first login.

python -m services.prepare database     needs TRADEWIND_ADMIN_DATABASE_URL; run it before each new version serves
python -m services.prepare wait         ends once that is done, for processes that start at the same time
python -m services.prepare key          prints a new key; creates its tenant if there is none of that name
python -m services.prepare login        prints a password for one sign-in: of a new user with every role, or of an
                                        existing one, who keeps their roles and is enabled again

`key` and `login` use the embedded servers in the folder `TRADEWIND_DATA`, unless the environment names others. They do
so while the service runs, and while it is stopped.

Each may be run again: `database` does what is missing, `key` creates one more key, `login` admits the user again.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import create_key, list_used_names, register_tenant
from services.application.access.users import ROLES, add_user, unlock_user
from services.bootstrap import Container, build_container
from services.data_folder import POSTGRES
from services.embedded.backends import open_backends
from services.persistence.condition import create_readiness_check
from services.persistence.migrate import prepare_database
from services.persistence.patience import Patience
from services.settings import Settings
from tradewind.errors import InvalidValue, NotFound, TradewindError, Unavailable
from tradewind.names import find_free_name
from tradewind.wire.inventory import CreatedKey, NewKey

FIRST_TENANT = "local"
FIRST_LOGIN = "admin"
POLL_S = 1.0


def main(arguments: Sequence[str]) -> int:
    """Run one of the preparations; return 0, 1 if it failed, 2 for wrong settings."""
    options = build_parser().parse_args(arguments)
    try:
        settings = Settings.from_environment(os.environ, data_folder=Path("var"))
        if options.preparation == "database":
            _prepare_database(settings)
        elif options.preparation == "wait":
            _wait(settings, options.seconds)
        elif options.preparation == "key":
            _print_key(settings, options)
        else:
            _print_login(settings, options)
    except InvalidValue as error:
        return _fail(error, 2)
    except TradewindError as error:
        return _fail(error, 1)
    return 0


def ensure_database(settings: Settings, *, database_url: str | None, admin_database_url: str | None) -> str:
    """Return the application's URL of the database, with the schema up to date where we may migrate.

    Parameters
    ----------
    settings : limits of migrations.
    database_url : of the application's role, which gets the password in it; None: without one, where the admin's is.
    admin_database_url : of a role that may create roles and migrate; None if the schema is ready.
    """
    if admin_database_url is not None:
        password = urlsplit(database_url or "").password
        prepared = prepare_database(
            admin_database_url,
            app_password=password and unquote(password),
            patience=Patience(lock_s=settings.migration_lock_s, statement_s=settings.migration_statement_s),
        )
        return database_url or prepared
    return settings.required_database_url if database_url is None else database_url


def issue_key(parts: Container, *, tenant: str, name: str, scopes: Sequence[Scope]) -> CreatedKey:
    """Create a key of the tenant of that name, and the tenant if there is none.

    Where a key in use has the name, the new one has a number behind it.
    """
    tenant_id = parts.store.registry.find_tenant(tenant)
    with parts.store.unit_of_work(tenant_id or uuid4()) as uow:
        free = name if tenant_id is None else find_free_name(name, list_used_names(uow))
        new = NewKey(name=free, scopes=tuple(scopes))
        if tenant_id is None:
            return register_tenant(tenant, new, make_secret(), uow=uow, clock=parts.clock)
        return create_key(new, make_secret(), uow=uow, clock=parts.clock)


def issue_login(parts: Container, *, tenant: str, login: str) -> str:
    """Return the password for one sign-in of a user, who is created with every role if there is none of that login.

    An existing user keeps their roles, and is enabled again.

    Raises
    ------
    NotFound : there is no such tenant.
    Conflict : the login belongs to a user of another tenant.
    """
    tenant_id = parts.store.registry.find_tenant(tenant)
    if tenant_id is None:
        raise NotFound(f"there is no tenant {tenant!r}; make one with a key")
    found = parts.store.registry.find_user(login)
    with parts.store.unit_of_work(tenant_id) as uow:
        if found is not None and found.tenant_id == tenant_id:
            return unlock_user(found.id, passwords=parts.passwords, uow=uow)
        return add_user(login, ROLES, passwords=parts.passwords, uow=uow, clock=parts.clock)[1]


def _prepare_database(settings: Settings) -> None:
    admin_database_url = settings.required_admin_database_url
    ensure_database(settings, database_url=settings.database_url, admin_database_url=admin_database_url)
    sys.stdout.write("the database is up to date\n")


def _wait(settings: Settings, patience_s: float) -> None:
    """Wait for the schema.

    Raises
    ------
    Unavailable : it did not come in time, with the reason.
    """
    require_ready = create_readiness_check(settings.required_database_url)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            require_ready()
        except Unavailable:
            if time.monotonic() >= deadline:
                raise
        else:
            return
        time.sleep(POLL_S)


def _print_login(settings: Settings, options: argparse.Namespace) -> None:
    with _open_parts(settings) as parts:
        password = issue_login(parts, tenant=options.tenant, login=options.login)
    sys.stdout.write(f"{password}\n")


@contextmanager
def _open_parts(settings: Settings) -> Iterator[Container]:
    with ExitStack() as stack:
        database_url, redis_url = settings.database_url, settings.redis_url
        if database_url is None and redis_url is None and (settings.data_folder / POSTGRES).exists():
            found = stack.enter_context(
                open_backends(settings.data_folder, database_url=None, admin_database_url=None, redis_url=None)
            )
            database_url = ensure_database(settings, database_url=None, admin_database_url=found.admin_database_url)
            redis_url = found.redis_url
        yield stack.enter_context(
            build_container(
                database_url=database_url or settings.required_database_url,
                redis_url=redis_url or settings.required_redis_url,
            )
        )


def _print_key(settings: Settings, options: argparse.Namespace) -> None:
    with _open_parts(settings) as parts:
        created = issue_key(parts, tenant=options.tenant, name=options.name, scopes=options.scope or tuple(Scope))
    sys.stdout.write(f"{created.secret}\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m services.prepare", description=(__doc__ or "").partition("\n")[0])
    preparations = parser.add_subparsers(dest="preparation", required=True)
    preparations.add_parser(
        "database", help="make the roles and bring the schema up to date; needs TRADEWIND_ADMIN_DATABASE_URL"
    )
    wait = preparations.add_parser("wait", help="end once the schema of this version, or a later one, is there")
    wait.add_argument("--seconds", type=float, default=600.0, help="how long to wait, at most (%(default)g)")
    key = preparations.add_parser("key", help="print a new API key, which is shown this once")
    key.add_argument("--tenant", default=FIRST_TENANT, help="made if there is none of that name (%(default)s)")
    key.add_argument("--name", default="first key", help="what the key is called in lists (%(default)s)")
    key.add_argument("--scope", type=Scope, choices=tuple(Scope), action="append", help="may be repeated; default: all")
    login = preparations.add_parser(
        "login", help="print a password for one sign-in to the pages, which then ask for another one"
    )
    login.add_argument("--tenant", default=FIRST_TENANT, help="the user's tenant (%(default)s)")
    login.add_argument(
        "--login",
        default=FIRST_LOGIN,
        help="the user; a new one gets every role, an existing one keeps the roles (%(default)s)",
    )
    return parser


def _fail(error: TradewindError, code: int) -> int:
    cause = f" ({str(error.__cause__).splitlines()[0]})" if error.__cause__ else ""  # libpq's, without the password
    sys.stderr.write(f"prepare: {error}{cause}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
