"""The connections of one server."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tradewind_agent.serve.connection import ServerConnection


class OpenConnections(set["ServerConnection"]):
    """The connections of one server; once ``is_closed``, one that was accepted before is dropped when it is made."""

    is_closed = False

    def drop_idle(self) -> bool:
        """Drop the one that waits longest for a request, first of those never served; return whether any waits.

        So clients that open connections and ask for nothing shut nobody out.
        """
        waiting = (each for each in self if each.is_idle)
        idle = min(waiting, key=lambda each: (each.has_served, each.deadline_s), default=None)
        if idle is None:
            return False
        self.discard(idle)
        if idle.has_served:
            idle.stop()
        else:
            idle.abort()  # its end may take its time
        return True
