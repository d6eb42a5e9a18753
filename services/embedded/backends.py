"""PostgreSQL and Redis for a process that wants both: its own servers if it names them, else embedded ones."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey


@dataclass(frozen=True)
class Backends:
    """Where the data are.

    Attributes
    ----------
    admin_database_url : libpq URL of a role that may make roles and migrate; None if the schema is ready.
    database_url : libpq URL of the application's role; None if it is to be made with the admin's.
    redis_url : for Redis clients and Celery.
    """

    admin_database_url: str | None
    database_url: str | None
    redis_url: str


@contextmanager
def backends(
    folder: Path, *, database_url: str | None, admin_database_url: str | None, redis_url: str | None
) -> Iterator[Backends]:
    """Start an embedded server for each URL that is not given; stop them at the end if nobody else uses them.

    Parameters
    ----------
    folder : the embedded servers keep their data in `postgres` and `valkey` below it.
    """
    with ExitStack() as stack:
        if database_url is None and admin_database_url is None:
            admin_database_url = stack.enter_context(EmbeddedPostgres(folder / "postgres")).url()
        if redis_url is None:
            redis_url = stack.enter_context(EmbeddedValkey(folder / "valkey")).url()
        yield Backends(admin_database_url=admin_database_url, database_url=database_url, redis_url=redis_url)
