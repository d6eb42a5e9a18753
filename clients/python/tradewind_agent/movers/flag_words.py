"""Words that a recommendation adds to a command line: none where the user has spoken."""

from collections.abc import Sequence
from dataclasses import replace

from tradewind.flags import build_flags_for_tool
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.movers.command_line import Grammar, ParsedWords, parse
from tradewind_agent.session.planning import combine_chunk_settings


def make_flags(
    tool: str, parameters: Parameters, by_hand: Parameters, words: ParsedWords, grammar: Grammar
) -> tuple[str, ...]:
    """Return the flags for ``parameters``, without those that the user set or whose option the user's line has."""
    taken = by_hand.list_known().keys()
    return tuple(
        word
        for flag in build_flags_for_tool(tool, parameters).flags
        if flag.parameter not in taken and not parse(flag.words, grammar).options.keys() & words.options.keys()
        for word in flag.words
    )


def find_inexpressible(tool: str, parameters: Parameters) -> tuple[str, ...]:
    """Return what of ``parameters`` the tool cannot express."""
    return build_flags_for_tool(tool, parameters).not_expressible


def override(parameters: Parameters, fixed: Parameters) -> Parameters:
    """Return ``parameters``, with what is known of ``fixed`` in its place."""
    return replace(parameters, **fixed.list_known())  # type: ignore[arg-type]  # keys are field names


def choose_single_setting(chunks: Sequence[ChunkPlan], fixed: Parameters) -> Parameters:
    """Return the one setting that a tool can have for all files, the user's own values in their place."""
    return override(combine_chunk_settings(chunks), fixed)
