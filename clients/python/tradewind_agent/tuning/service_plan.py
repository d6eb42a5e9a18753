"""From an answer of the service to a plan that the engine can follow; what makes no sense is told apart here."""

from collections.abc import Sequence

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.sample import MOST_STREAMS
from tradewind.wire.heartbeats import HeartbeatAnswer
from tradewind_agent.errors import AgentError


class UnusableAnswer(AgentError):
    """An answer that no transfer can follow."""


def plan_from_answer(
    answer: HeartbeatAnswer, sequence: int, initial_plan: Sequence[ChunkPlan]
) -> tuple[ChunkPlan, ...]:
    """The plan that ``answer`` asks for.

    Parameters
    ----------
    sequence : of the heartbeat that it answers.
    initial_plan : the plan at the start, whose chunks and upper ends still hold.

    Raises
    ------
    UnusableAnswer
    """
    if answer.sequence != sequence:
        raise UnusableAnswer(f"the service has answered heartbeat {answer.sequence} instead of {sequence}")
    asked = {each.chunk: Parameters(**dict(each.parameters)) for each in answer.chunks}
    if not asked or len(asked) < len(answer.chunks):
        raise UnusableAnswer("the service's answer has no chunks, or one of them twice")
    if unknown := asked.keys() - {each.chunk for each in initial_plan}:
        raise UnusableAnswer(f"the service's answer is about {min(unknown)} files, of which this transfer has no chunk")
    if any(each.concurrency is None for each in asked.values()):
        raise UnusableAnswer("the service's answer does not say how many files at once")
    if sum(each.streams for each in asked.values()) > MOST_STREAMS:
        raise UnusableAnswer(f"the service's answer asks for more than {MOST_STREAMS} streams")
    kept = [each for each in initial_plan if each.chunk in asked]
    ends = [each.max_file_bytes for each in kept[:-1]] + [None]
    return tuple(ChunkPlan(each.chunk, end, asked[each.chunk]) for each, end in zip(kept, ends, strict=True))
