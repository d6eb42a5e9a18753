"""Endpoints by name or alias, and what their owner knows of the paths between them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, delete, func, insert, null, select, text, update
from sqlalchemy.dialects.postgresql import insert as insert_or_skip

from services.persistence.repositories.regions import read_network_energy
from services.persistence.tables import endpoint_aliases, endpoint_pairs, endpoints, regions
from tradewind.errors import Conflict, InvalidValue, NameTaken, NotFound
from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.power_policy import PowerPolicy, choose_energy_basis
from tradewind.wire.inventory import Endpoint, EndpointChange, KnownPair, NewEndpoint, PowerProfile

_FIND = text(
    "SELECT alias AS name, endpoint_id FROM endpoint_aliases WHERE alias = ANY(:names)"
    " UNION ALL SELECT name, id FROM endpoints WHERE name = ANY(:names)"
)


class Endpoints:
    """Endpoints of one tenant. A name or alias belongs to one endpoint at most."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def resolve(self, names: Collection[str]) -> Mapping[str, UUID]:
        """Return endpoint ids by name or alias; create endpoints for unknown names."""
        known = self.find(names)
        unknown = sorted(set(names) - known.keys())
        if not unknown:
            return known
        self._connection.execute(
            insert_or_skip(endpoints)
            .values([{"tenant_id": self._tenant_id, "name": name} for name in unknown])
            .on_conflict_do_nothing()
        )
        return self.find(names)

    def find(self, names: Collection[str]) -> Mapping[str, UUID]:
        """Return the endpoint ids of those ``names`` that are a name or an alias."""
        rows = self._connection.execute(_FIND, {"names": list(names)})
        return {row.name: row.endpoint_id for row in rows}

    def add(self, new: NewEndpoint) -> Endpoint:
        """Create an endpoint.

        Raises
        ------
        Conflict : the name or an alias is taken, or given twice.
        InvalidValue : there is no such region.
        """
        self._lock_names()
        self._require_free([new.name, *new.aliases], owner=None)
        endpoint_id: UUID = self._connection.execute(
            insert(endpoints)
            .values(
                tenant_id=self._tenant_id,
                name=new.name,
                power_profile=_to_json(new.power_profile),
                power_policy=new.power_policy,
                region=self._find_region(new.region),
            )
            .returning(endpoints.c.id)
        ).scalar_one()
        self._set_aliases(endpoint_id, new.aliases)
        self._set_pairs(endpoint_id, new.known_pairs)
        return self.get(endpoint_id)

    def change(self, endpoint_id: UUID, change: EndpointChange) -> Endpoint:
        """Change what ``change`` names. A former name stays as an alias, because logs go on using it.

        Raises
        ------
        NotFound : the tenant has no such endpoint.
        Conflict : the name or an alias is taken, or given twice.
        InvalidValue : there is no such region.
        """
        self._lock_names()
        before = self.get(endpoint_id)
        name, aliases = _list_names_after(before, change)
        if (name, aliases) != (before.name, before.aliases):
            self._require_free([name, *aliases], owner=endpoint_id)
            self._connection.execute(delete(endpoint_aliases).where(endpoint_aliases.c.endpoint_id == endpoint_id))
            self._set_aliases(endpoint_id, aliases)
        values: dict[str, Any] = {} if change.name is None else {"name": change.name}
        if "power_profile" in change.model_fields_set:
            values["power_profile"] = null() if change.power_profile is None else _to_json(change.power_profile)
        if "power_policy" in change.model_fields_set:
            values["power_policy"] = change.power_policy
        if change.region is not None:
            values["region"] = self._find_region(change.region or None)
        if values:
            self._connection.execute(update(endpoints).where(endpoints.c.id == endpoint_id).values(values))
        if change.known_pairs is not None:
            self._connection.execute(delete(endpoint_pairs).where(endpoint_pairs.c.source_id == endpoint_id))
            self._set_pairs(endpoint_id, change.known_pairs)
        return self.get(endpoint_id)

    def get(self, endpoint_id: UUID) -> Endpoint:
        """Return the endpoint.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        found = self._read(endpoint_id)
        if not found:
            raise NotFound("no such endpoint")
        return found[0]

    def list_all(self) -> Sequence[Endpoint]:
        """Return every endpoint, by name."""
        return self._read(None)

    def choose_energy_basis(self, names: Collection[str] | None = None) -> EnergyBasis:
        """Return the default energy basis of endpoints, by their own names; by default of all that the tenant has."""
        chosen = endpoints.c.id.is_not(None) if names is None else endpoints.c.name.in_(names)
        policies = self._connection.execute(select(endpoints.c.power_policy).where(chosen)).scalars()
        return choose_energy_basis(PowerPolicy(policy) if policy else None for policy in policies)

    def _read(self, only: UUID | None) -> Sequence[Endpoint]:
        chosen = endpoints.c.id == only if only is not None else endpoints.c.id.is_not(None)
        aliases: dict[UUID, list[str]] = {}
        for alias, owner in self._connection.execute(
            select(endpoint_aliases.c.alias, endpoint_aliases.c.endpoint_id)
            .join(endpoints)
            .where(chosen)
            .order_by(endpoint_aliases.c.alias)
        ):
            aliases.setdefault(owner, []).append(alias)
        pairs = self._read_pairs(only)
        return [
            Endpoint(
                id=row.id,
                name=row.name,
                aliases=tuple(aliases.get(row.id, ())),
                known_pairs=tuple(pairs.get(row.id, ())),
                power_profile=PowerProfile(**row.power_profile) if row.power_profile else None,
                power_policy=PowerPolicy(row.power_policy) if row.power_policy else None,
                region=row.region,
            )
            for row in self._connection.execute(select(endpoints).where(chosen).order_by(endpoints.c.name))
        ]

    def _read_pairs(self, only: UUID | None) -> dict[UUID, list[KnownPair]]:
        destination = endpoints.alias("destination")
        query = (
            select(endpoint_pairs, destination.c.name)
            .join(destination, destination.c.id == endpoint_pairs.c.destination_id)
            .order_by(destination.c.name)
        )
        if only is not None:
            query = query.where(endpoint_pairs.c.source_id == only)
        pairs: dict[UUID, list[KnownPair]] = {}
        for row in self._connection.execute(query):
            pairs.setdefault(row.source_id, []).append(
                KnownPair(
                    destination=row.name,
                    bandwidth_bps=row.bandwidth_bps,
                    rtt_s=row.rtt_s,
                    buffer_bytes=row.buffer_bytes,
                    network_energy=read_network_energy(row),
                )
            )
        return pairs

    def _lock_names(self) -> None:
        """Wait for others who give names for the tenant: no constraint spans names and aliases."""
        self._connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"endpoint names {self._tenant_id}"))))

    def _require_free(self, names: Sequence[str], *, owner: UUID | None) -> None:
        taken = {name: holder for name, holder in self.find(names).items() if holder != owner}
        if taken:
            raise NameTaken("name", f"{min(taken)!r} is the name or an alias of another endpoint")
        if len(set(names)) < len(names):
            raise Conflict("the name and aliases of an endpoint must differ from each other")

    def _find_region(self, name: str | None) -> str | None:
        """Return the name of a region that exists; ``None`` stays."""
        if name is None or self._connection.execute(select(regions.c.name).where(regions.c.name == name)).first():
            return name
        raise InvalidValue("region", f"there is no region {name!r}; upload its hours first")

    def _set_aliases(self, endpoint_id: UUID, aliases: Collection[str]) -> None:
        if aliases:
            self._connection.execute(
                insert(endpoint_aliases),
                [
                    {"tenant_id": self._tenant_id, "alias": alias, "endpoint_id": endpoint_id}
                    for alias in sorted(set(aliases))
                ],
            )

    def _set_pairs(self, endpoint_id: UUID, pairs: Collection[KnownPair]) -> None:
        if not pairs:
            return
        by_name = {pair.destination: pair for pair in pairs}
        destinations = self.resolve(by_name)
        by_id = {destinations[name]: pair for name, pair in by_name.items()}
        self._connection.execute(
            insert(endpoint_pairs),
            [
                {
                    "tenant_id": self._tenant_id,
                    "source_id": endpoint_id,
                    "destination_id": destination_id,
                    "bandwidth_bps": pair.bandwidth_bps,
                    "rtt_s": pair.rtt_s,
                    "buffer_bytes": pair.buffer_bytes,
                    **_list_network_values(pair),
                }
                for destination_id, pair in by_id.items()
            ],
        )


def _list_names_after(before: Endpoint, change: EndpointChange) -> tuple[str, tuple[str, ...]]:
    """Return the name and the aliases after ``change``, with the former name among them once."""
    name = before.name if change.name is None else change.name
    remaining = tuple(alias for alias in before.aliases if alias != name)
    aliases = remaining if change.aliases is None else change.aliases
    is_renamed = name != before.name and before.name not in aliases
    return name, (*aliases, before.name) if is_renamed else aliases


def _list_network_values(pair: KnownPair) -> dict[str, object]:
    known = pair.network_energy
    return {
        "network_low_j_per_gb": None if known is None else known.low_j_per_gb,
        "network_high_j_per_gb": None if known is None else known.high_j_per_gb,
        "network_energy_source": None if known is None else known.source,
    }


def _to_json(profile: PowerProfile | None) -> dict[str, object] | None:
    return None if profile is None else profile.model_dump()
