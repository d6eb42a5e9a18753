"""SDK: what a tenant has, as ``client.inventory``: links with what was learned of them, endpoints and keys."""

from uuid import UUID

from pydantic import TypeAdapter

from tradewind.wire.gain import GainReport
from tradewind.wire.inventory import (
    Cluster,
    CreatedKey,
    Endpoint,
    EndpointChange,
    Key,
    Link,
    NewEndpoint,
    NewKey,
    Surface,
)
from tradewind_agent.service.calls import Calls


class Inventory:
    """Links, endpoints and keys of the key's tenant; changing endpoints and keys needs the scope provider."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def links(self) -> tuple[Link, ...]:
        """Return each pair of endpoints with logs, and what was learned of it."""
        return self._calls.call("GET", "/v1/links", TypeAdapter(tuple[Link, ...]))

    def gain(self) -> GainReport:
        """Return what tuning would have gained on each link of the logged history."""
        return self._calls.call("GET", "/v1/links/gain", TypeAdapter(GainReport))

    def clusters(self, link_id: UUID) -> tuple[Cluster, ...]:
        """Return the clusters of a link in the current release."""
        return self._calls.call("GET", f"/v1/links/{link_id}/clusters", TypeAdapter(tuple[Cluster, ...]))

    def surface(self, cluster_id: UUID) -> Surface:
        """Return the fitted surfaces of a cluster, with the rows that they rest on."""
        return self._calls.call("GET", f"/v1/clusters/{cluster_id}/surface", TypeAdapter(Surface))

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return all endpoints, by name."""
        return self._calls.call("GET", "/v1/endpoints", TypeAdapter(tuple[Endpoint, ...]))

    def create_endpoint(self, endpoint: NewEndpoint) -> Endpoint:
        """Create an endpoint, with the other names that logs call it by."""
        return self._calls.call("POST", "/v1/endpoints", TypeAdapter(Endpoint), body=endpoint, repeatable=False)

    def change_endpoint(self, endpoint_id: UUID, change: EndpointChange) -> Endpoint:
        """Change what is stated of an endpoint; what ``change`` leaves out stays as it is."""
        return self._calls.call("PATCH", f"/v1/endpoints/{endpoint_id}", TypeAdapter(Endpoint), body=change)

    def keys(self) -> tuple[Key, ...]:
        """Return all keys, without their secrets."""
        return self._calls.call("GET", "/v1/keys", TypeAdapter(tuple[Key, ...]))

    def create_key(self, key: NewKey) -> CreatedKey:
        """Create a key and return it with its secret, which the service shows only this once."""
        return self._calls.call("POST", "/v1/keys", TypeAdapter(CreatedKey), body=key, repeatable=False)

    def revoke_key(self, key_id: UUID) -> None:
        """Revoke a key, which no call accepts from then on."""
        self._calls.send("DELETE", f"/v1/keys/{key_id}")
