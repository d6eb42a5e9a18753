"""Run Schemathesis over a running API: the bounds of its description, drawn requests, calls that follow from others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar

import schemathesis
from schemathesis.engine import from_schema
from schemathesis.engine.events import FatalError, NonFatalError, PhaseFinished, PhaseStarted, ScenarioFinished
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.schemas import BaseSchema

from benchmarks.fuzz.bodies import serialize_lines
from benchmarks.ingest import make_key, run_api
from services.application.access.authenticate import Scope
from services.application.limits.rate_limits import CallLimits
from services.bootstrap import Options
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.migrate import prepare_database

CHECKS = ["not_a_server_error", "response_schema_conformance", "content_type_conformance"]
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is requested: phases of Schemathesis, examples of an operation, a pattern of paths (all by default)."""

    FULL: ClassVar["Extent"]
    QUICK: ClassVar["Extent"]
    SMOKE: ClassVar["Extent"]

    phases: Sequence[str]
    examples: int
    paths: str = ""


Extent.FULL = Extent(("examples", "coverage", "fuzzing", "stateful"), 50)
Extent.QUICK = Extent(("examples", "fuzzing"), 5)
Extent.SMOKE = Extent(("examples", "fuzzing"), 1, r"^/v1/(links|devices|recommend)$")

UNLIMITED = Options(call_limits=CallLimits(of_key={}, of_tenant={}))
"""One key makes all calls: refusing them as too many would hide what they meet."""


@dataclass
class PhaseResult:
    """The result of a phase.

    ``phase`` : of Schemathesis; ``answers`` : how many of each status; ``failures`` : in order, without repeats.
    """

    phase: str
    answers: Counter[int] = field(default_factory=Counter)
    failures: dict[str, None] = field(default_factory=dict)

    def add(self, recorder: ScenarioRecorder) -> None:
        """Count the answers to requests that belong together."""
        for interaction in recorder.interactions.values():
            if interaction.response is not None:
                self.answers[interaction.response.status_code] += 1
        for check in chain.from_iterable(recorder.checks.values()):
            if check.failure_info is not None:
                self.failures[f"{recorder.label}: {check.failure_info.failure}"] = None


def request_api(extent: Extent, *, seed: int) -> list[PhaseResult]:
    """Return what the API answered in each phase, with a key that may do everything."""
    with EmbeddedPostgres.temporary() as postgres, EmbeddedValkey.temporary() as valkey:
        database_url, redis_url = prepare_database(postgres.url()), valkey.url()
        secret = make_key(database_url, redis_url, scopes=tuple(Scope))
        with run_api(database_url, redis_url, options=UNLIMITED) as (address, _):
            schema = load_schema(address, secret, extent, seed=seed)
            return list(run_phases(schema))


def load_schema(address: str, secret: str, extent: Extent, *, seed: int) -> BaseSchema:
    """Return the API by its own description, with the configuration of the requests."""
    schemathesis.serializer("application/x-ndjson")(serialize_lines)
    config = schemathesis.Config(seed=seed)
    project = config.projects.default
    project.update(base_url=address, headers={"Authorization": f"Bearer {secret}"}, request_timeout=PATIENCE_S)
    project.phases.update(phases=list(extent.phases))
    project.generation.update(max_examples=extent.examples, database="none")
    project.checks.update(included_check_names=CHECKS)
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json", config=config)
    return schema.include(path_regex=extent.paths) if extent.paths else schema


def run_phases(schema: BaseSchema) -> Iterator[PhaseResult]:
    """Run the phases; yield each when all of its requests were made."""
    found = PhaseResult("")
    for event in from_schema(schema).execute():
        match event:
            case PhaseStarted():
                found = PhaseResult(event.phase.name.value)
            case ScenarioFinished():
                found.add(event.recorder)
            case NonFatalError():
                found.failures[f"{event.label}: {event.value}"] = None
            case FatalError():
                raise event.exception
            case PhaseFinished() if found.answers or found.failures:
                yield found
