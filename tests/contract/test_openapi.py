"""The API's description is part of its contract: a change of it is wanted, and seen in review."""

from collections.abc import Iterator
from typing import Any

from infra.openapi import SNAPSHOT, render_document
from services.app import build_openapi_document
from tradewind.wire.base import BIGINT_MAX

FIXED = {
    "/v1/logs": {"post"},
    "/v1/logs/batches/{batch_id}": {"get"},
    "/v1/endpoints": {"get", "post"},
    "/v1/endpoints/{endpoint_id}": {"get", "patch"},
    "/v1/recommend": {"post"},
    "/v1/transfers": {"get"},
    "/v1/transfers/{transfer_id}": {"get"},
    "/v1/transfers/{transfer_id}/heartbeats": {"post"},
    "/v1/transfers/{transfer_id}/complete": {"post"},
    "/v1/limits": {"get", "put"},
    "/v1/sla-tiers": {"get"},
    "/v1/price-books": {"get", "post"},
    "/v1/price-books/{book_id}": {"get"},
    "/v1/price-books/{book_id}/tiers/{tier_id}": {"put"},
    "/v1/price-books/{book_id}/publish": {"post"},
    "/v1/links": {"get"},
    "/v1/links/{link_id}/clusters": {"get"},
    "/v1/clusters/{cluster_id}/surface": {"get"},
    "/v1/releases": {"get"},
    "/v1/releases/{release_id}/rollback": {"post"},
    "/v1/keys": {"get", "post"},
    "/v1/keys/{key_id}": {"delete"},
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/servingz": {"get"},
    "/metrics": {"get"},
}


def test_openapi_document_equals_the_snapshot() -> None:
    assert render_document() == SNAPSHOT.read_text(encoding="utf-8"), "if the change is wanted: python -m infra.openapi"


def test_the_fixed_calls_are_there() -> None:
    paths = build_openapi_document()["paths"]
    assert {path: methods for path, methods in FIXED.items() if not methods <= paths.get(path, {}).keys()} == {}


def test_every_call_but_the_probes_needs_a_key_and_documents_its_errors() -> None:
    for path, operations in build_openapi_document()["paths"].items():
        for operation in operations.values():
            if path.startswith("/v1/"):
                assert operation.get("security"), path
                assert "4XX" in operation["responses"], path


def test_every_integer_of_an_address_fits_the_database() -> None:
    unbounded = [
        (path, parameter["name"])
        for path, operations in build_openapi_document()["paths"].items()
        for operation in operations.values()
        for parameter in operation.get("parameters", ())
        for schema in _list_integers(parameter["schema"])
        if schema.get("minimum", -BIGINT_MAX - 1) < -BIGINT_MAX or schema.get("maximum", BIGINT_MAX + 1) > BIGINT_MAX
    ]
    assert unbounded == []


def _list_integers(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (each for each in (schema, *schema.get("anyOf", ())) if each.get("type") == "integer")
