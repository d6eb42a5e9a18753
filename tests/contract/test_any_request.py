"""Whatever the description of the API allows, and what it does not, is answered: never with a failure of ours."""

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from services.bootstrap import Container
from tests.stack import Tenant, new_tenant

EXAMPLES = 15
PATIENCE_S = 20.0
DESCRIBED = schemathesis.openapi.from_path(Path(__file__).with_name("openapi.json"))


@schemathesis.serializer("application/x-ndjson")
def any_lines(_: schemathesis.SerializationContext, value: object) -> bytes:
    """What is generated for an upload, as it is: bytes, or text."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@pytest.fixture(scope="module")
def caller(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


@DESCRIBED.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_any_request_is_answered(case: schemathesis.Case, api: str, caller: Tenant) -> None:
    case.headers["Authorization"] = f"Bearer {caller.secret}"
    response = case.call(base_url=api, timeout=PATIENCE_S)
    case.validate_response(response, checks=(not_a_server_error, response_schema_conformance, content_type_conformance))
