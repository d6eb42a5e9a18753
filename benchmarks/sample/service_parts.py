"""Open the parts of the sample's service on its own databases, for what the API cannot do in the past."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from uuid import UUID

from services.bootstrap import Container, build_container
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.roles import APP
from services.prepare import FIRST_TENANT

OpenParts = Callable[[], AbstractContextManager[tuple[Container, UUID]]]
"""Opens the parts of a service; yields them and its tenant."""


@contextmanager
def open_parts_of_service(folder: Path) -> Iterator[tuple[Container, UUID]]:
    """Yield the parts and the only tenant of the service that runs on the data in ``folder``."""
    with (
        EmbeddedPostgres(folder / "postgres", tcp=True) as postgres,
        EmbeddedValkey(folder / "valkey") as valkey,
        build_container(database_url=postgres.url(APP), redis_url=valkey.url()) as parts,
    ):
        tenant_id = parts.store.registry.find_tenant(FIRST_TENANT)
        assert tenant_id is not None, "the service has made it"
        yield parts, tenant_id
