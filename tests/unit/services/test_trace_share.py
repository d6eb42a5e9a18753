"""The share of traces that an operator asks for holds for whatever callers send."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from services.observability.trace_share import OwnShare
from services.observability.tracing import Tracing

CALLS, SHARE = 2000, 0.1
KEPT, DROPPED = "01", "00"
NEVER_OFF = ParentBased(ALWAYS_ON)


def count_recorded(sampler: Sampler, flag: str, trace_ids: range) -> int:
    """So many of the calls with these ids whose spans are recorded."""
    tracer, extract = TracerProvider(sampler=sampler).get_tracer("test"), TraceContextTextMapPropagator().extract
    parents = (extract({"traceparent": f"00-{each:032x}-b7ad6b7169203331-{flag}"}) for each in trace_ids)
    return sum(tracer.start_span("call", parent, SpanKind.SERVER).is_recording() for parent in parents)


@pytest.mark.parametrize("flag", [KEPT, DROPPED])
@pytest.mark.parametrize("share", [TraceIdRatioBased(SHARE), ParentBased(TraceIdRatioBased(SHARE))])
def test_neither_flags_nor_ids_lift_or_lower_the_share(share: Sampler, flag: str) -> None:
    low_ids = range(1, CALLS + 1)  # by which the share alone would keep all
    assert CALLS * SHARE / 2 < count_recorded(OwnShare(share), flag, low_ids) < CALLS * SHARE * 2


def test_always_on_and_always_off_samplers_are_respected() -> None:
    assert count_recorded(OwnShare(NEVER_OFF), DROPPED, range(1, 10)) == 9
    assert count_recorded(OwnShare(ALWAYS_OFF), KEPT, range(1, 10)) == 0


def test_calls_of_one_trace_share_one_sampling_decision() -> None:
    sampler = OwnShare(ParentBased(TraceIdRatioBased(0.5)))
    api, worker = (Tracing(TracerProvider(sampler=each)) for each in (sampler, NEVER_OFF))
    for trace_id in range(1, 30):
        parent = {"traceparent": f"00-{trace_id:032x}-b7ad6b7169203331-{KEPT}", "tracestate": "vendor=1"}
        found = set()
        for _ in range(3):
            with api.open_server_span("call", of=parent, attributes={}) as span:
                found.add(span.is_recording())
                carried = api.build_headers()
            assert carried["tracestate"] == "vendor=1"
            with worker.open_consumer_span("job", of=carried, attributes={}) as job:
                found.add(job.is_recording())
        assert len(found) == 1
