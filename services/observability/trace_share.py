"""Decides which traces are stored, by the operator's setting, not by the sender's. Imported where traces are
configured.

Anybody may send a ``traceparent``, with any id and with the sampled flag. A sampler that follows the flag, or draws by
the id, lets a caller have every request of its own traced and paid for, or none.
"""

import secrets
from collections.abc import Sequence
from hashlib import blake2b

from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import Sampler, SamplingResult
from opentelemetry.trace import Link, SpanKind, TraceState, get_current_span
from opentelemetry.util.types import Attributes

TRACE_ID_BYTES = 16


class OwnShare(Sampler):
    """Samples remote traces in the share that ``named`` samples of local ones.

    A secret hash of the trace id decides, so that one process decides equally for all calls of a trace, and no caller
    can foresee the decision.
    """

    def __init__(self, named: Sampler) -> None:
        self._named = named
        self._key = secrets.token_bytes(blake2b.MAX_KEY_SIZE)

    def should_sample(  # noqa: PLR0917 -- as the library calls it
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        parent = get_current_span(parent_context).get_span_context()
        if not parent.is_remote:
            return self._named.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)
        content = trace_id.to_bytes(TRACE_ID_BYTES)
        drawn = int.from_bytes(blake2b(content, digest_size=TRACE_ID_BYTES, key=self._key).digest())
        decided = self._named.should_sample(Context(), drawn, name, kind, attributes, links, trace_state)
        return SamplingResult(decided.decision, decided.attributes, parent.trace_state)

    def get_description(self) -> str:
        return f"OwnShare{{{self._named.get_description()}}}"
