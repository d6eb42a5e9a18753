"""Limits on the process tree of a wrapped tool: enforced by the host or the tool's own option, else given as advice."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tradewind.parameters import Parameters
from tradewind_agent.movers.rate_option import find_user_rate_bps, judge_rate_limit
from tradewind_agent.resources.applied import Advice, Applied, Enforced, Verdict
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits

_BY_TOOL = "nic_bps"


class ToolResources:
    """The limits of one run, put on each start of the tool before it does anything.

    Parameters
    ----------
    folders : that the tool reads or writes.
    not_applied : what is only recommended.
    say : called with a line for each limit, at the first start.
    """

    def __init__(
        self,
        limits: Limits,
        limiter: ResourceLimiter,
        *,
        tool: str,
        own_options: Mapping[str, Sequence[str]],
        folders: Sequence[Path],
        not_applied: Sequence[Advice],
        say: Callable[[str], None],
    ) -> None:
        self._of_host, self._limiter, self._folders, self._say = limits.without(_BY_TOOL), limiter, folders, say
        by_tool = [] if limits.nic_bps is None else [judge_rate_limit(tool, limits.nic_bps, own_options)]
        self._other_verdicts: tuple[Verdict, ...] = (*by_tool, *not_applied)
        self._tool, self._own_options = tool, own_options
        self._host_verdicts: tuple[Verdict, ...] | None = None
        self.leftovers: tuple[str, ...] = ()

    def must_wait(self) -> bool:
        """Report limits of the tool itself; return whether the tool must wait for limits of the host."""
        if self._of_host.select_known():
            return True
        if self._host_verdicts is None:
            self._host_verdicts = ()
            self._report()
        return False

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return what became of each limit."""
        return (*(self._host_verdicts or ()), *self._other_verdicts)

    def build_current_parameters(self, files_at_once: int) -> Parameters:
        """Return the current resource limits as a record states them, with the rate that the user's own options set."""
        held = Applied(self.verdicts).parameters
        rates = [held.nic_bps, find_user_rate_bps(self._tool, self._own_options, files_at_once=files_at_once)]
        return replace(held, nic_bps=min((rate for rate in rates if rate is not None), default=None))

    @contextmanager
    def limit_process(self, pid: int) -> Iterator[None]:
        """Limit a started process and its descendants until the end of the block."""
        with self._limiter.apply(self._of_host, pid, folders=self._folders) as applied:
            if self._host_verdicts is None:
                self._host_verdicts = (*applied.enforced, *applied.advice)
                self._report()
            yield
        self.leftovers = (*self.leftovers, *applied.left)

    def _report(self) -> None:
        for verdict in self.verdicts:
            self._say(f"the tool is {verdict}" if isinstance(verdict, Enforced) else str(verdict))
