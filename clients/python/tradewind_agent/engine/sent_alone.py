"""Requests whose answers name nothing by which they could be distinguished."""

from collections.abc import Sequence

from tradewind_agent.engine.origin.pipelining import ExpectedAnswer, PipelinedExchange


class SentAlone:
    """A request that follows no other one and is followed by none; it takes part in no trial."""

    @property
    def can_be_followed(self) -> bool:
        return False

    @property
    def can_be_divided(self) -> bool:
        return False

    def set_apart(self, _others: Sequence[ExpectedAnswer]) -> bool:
        return False

    def may_follow(self, _before: PipelinedExchange, *, has_ranges: bool) -> bool:  # noqa: ARG002 -- asks for none
        return False
