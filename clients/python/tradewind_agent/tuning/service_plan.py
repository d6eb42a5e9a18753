"""Turn an answer of the service into a plan that the engine can follow, or refuse it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.sample import MAX_STREAMS
from tradewind_agent.errors import AgentError

if TYPE_CHECKING:
    from tradewind.wire.heartbeats import HeartbeatAnswer


class UnusableAnswer(AgentError):
    """An answer that no transfer can follow."""


def plan_from_answer(
    answer: "HeartbeatAnswer", sequence: int, initial_plan: Sequence[ChunkPlan]
) -> tuple[ChunkPlan, ...]:
    """Return the plan in ``answer``.

    Parameters
    ----------
    sequence : of the heartbeat that it answers.
    initial_plan : the plan at the start, whose chunks and largest sizes still hold.

    Raises
    ------
    UnusableAnswer
    """
    if answer.sequence != sequence:
        raise UnusableAnswer(f"the service has answered heartbeat {answer.sequence} instead of {sequence}")
    requested = {decision.chunk: Parameters(**dict(decision.parameters)) for decision in answer.chunks}
    if not requested or len(requested) < len(answer.chunks):
        raise UnusableAnswer("the service's answer has no chunks, or one of them twice")
    if unknown := requested.keys() - {chunk.chunk for chunk in initial_plan}:
        raise UnusableAnswer(f"the service's answer is about {min(unknown)} files, which this transfer does not have")
    if any(parameters.concurrency is None for parameters in requested.values()):
        raise UnusableAnswer("the service's answer does not say how many files at once")
    if sum(parameters.streams for parameters in requested.values()) > MAX_STREAMS:
        raise UnusableAnswer(f"the service's answer asks for more than {MAX_STREAMS} streams")
    chunks = [chunk for chunk in initial_plan if chunk.chunk in requested]
    limits = [chunk.max_file_bytes for chunk in chunks[:-1]] + [None]
    return tuple(
        ChunkPlan(chunk.chunk, limit, requested[chunk.chunk]) for chunk, limit in zip(chunks, limits, strict=True)
    )
