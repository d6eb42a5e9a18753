"""Whatever the description of the API allows, and what it does not, is answered: never with a failure of ours.

A few drawn requests of each operation, made in its test: Schemathesis' decorator makes them when tests are collected,
which every process of a parallel run does. The bounds of all that is described, thousands of requests, and calls that
follow from others are `./run bench fuzz`'s.
"""

import json
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from benchmarks.fuzz.bodies import serialize_lines
from services.bootstrap import Container
from tests.conditions import stretched
from tests.stack import Tenant, new_tenant

EXAMPLES = 20
PATIENCE_S = 20.0
CHECKS = (not_a_server_error, response_schema_conformance, content_type_conformance)
MODES = [HypothesisTestMode.EXAMPLES, HypothesisTestMode.FUZZING]
DESCRIPTION = Path(__file__).with_name("openapi.json")
OPERATIONS = [
    (path, method) for path, methods in json.loads(DESCRIPTION.read_text())["paths"].items() for method in methods
]


@pytest.fixture(scope="module")
def caller(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


@pytest.fixture(scope="module")
def described() -> BaseSchema:
    schemathesis.serializer("application/x-ndjson")(serialize_lines)
    return schemathesis.openapi.from_path(DESCRIPTION)


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda part: part)
def test_any_request_is_answered(path: str, method: str, described: BaseSchema, api: str, caller: Tenant) -> None:
    answered = []

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def answer(case: schemathesis.Case) -> None:
        case.headers["Authorization"] = f"Bearer {caller.secret}"
        response = case.call(base_url=api, timeout=stretched(PATIENCE_S))
        case.validate_response(response, checks=CHECKS)
        answered.append(response.status_code)

    config = HypothesisTestConfig(project=described.config, modes=MODES)
    create_test(operation=described[path][method], test_func=answer, config=config)()
    assert answered
