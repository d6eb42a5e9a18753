"""PostgreSQL and Redis for a process that needs both: the servers that it names, else embedded ones."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from services.data_folder import POSTGRES, VALKEY
from services.embedded.errors import AddressChanged
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.supervision import EmbeddedServer
from services.embedded.valkey import EmbeddedValkey


@dataclass(frozen=True)
class Backends:
    """Where the data are.

    Attributes
    ----------
    admin_database_url : libpq URL of a role that may create roles and migrate; None if the schema is ready.
    database_url : libpq URL of the application's role; None if it is derived from the admin's.
    redis_url : for Redis clients and Celery.
    embedded : the servers that were started for it.
    """

    admin_database_url: str | None
    database_url: str | None
    redis_url: str
    embedded: tuple[EmbeddedServer, ...] = ()

    def revive(self) -> tuple[str, ...]:
        """Restart embedded servers that have ended; return their names.

        Raises
        ------
        CannotStart : one does not start.
        AddressChanged : one started, but at another address.
        """
        revived = tuple(server.name for server in self.embedded if server.revive())
        for server in self.embedded:
            address = self.redis_url if isinstance(server, EmbeddedValkey) else self.admin_database_url
            if isinstance(server, EmbeddedValkey | EmbeddedPostgres) and server.url() != address:
                raise AddressChanged(f"{server.name} has ended, and another program has taken its port since")
        return revived


@contextmanager
def open_backends(
    folder: Path, *, database_url: str | None, admin_database_url: str | None, redis_url: str | None
) -> Iterator[Backends]:
    """Start an embedded server for each URL that is not given; stop them at the end if nobody else uses them.

    Parameters
    ----------
    folder : the embedded servers keep their data in `postgres` and `valkey` below it.
    """
    with ExitStack() as stack:
        embedded: list[EmbeddedServer] = []
        if database_url is None and admin_database_url is None:
            postgres = stack.enter_context(
                EmbeddedPostgres(folder / POSTGRES, tcp=True)
            )  # analysts' tools come over TCP
            admin_database_url = postgres.url()
            embedded.append(postgres)
        if redis_url is None:
            valkey = stack.enter_context(EmbeddedValkey(folder / VALKEY))
            redis_url = valkey.url()
            embedded.append(valkey)
        yield Backends(
            admin_database_url=admin_database_url,
            database_url=database_url,
            redis_url=redis_url,
            embedded=tuple(embedded),
        )
