"""Connections of an API process that stops while a proxy has others to use: no request on its way is lost.

``uvicorn --http services.api.draining:Draining``. A stopping server no longer listens, which a proxy sees before it has
sent anything, and uses another. But uvicorn's own protocol also closes idle connections at once, and loses what the
proxy has just sent on one of them. Here they stay open for a while: requests are still answered, and the answer
announces that the connection closes.
"""

from services.api.arrival import BoundedHttp

IDLE_DRAIN_S = 3.0
"""An idle connection is closed after this long: longer than the proxy keeps one (``keepalive`` in
infra/caddy/Caddyfile), so that the proxy lets go of it first; shorter than a server waits for connections to end.
"""


CLOSES = (b"connection", b"close")


class Draining(BoundedHttp):
    """A connection that outlives the listening socket by a request or by a pause."""

    def shutdown(self) -> None:
        """Prepare to close; the stopping server calls this once for each connection."""
        # By the server's own headers, and so also on connections that were accepted last and are not called.
        if CLOSES not in self.server_state.default_headers:
            self.server_state.default_headers = [*self.server_state.default_headers, CLOSES]
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
            return
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(IDLE_DRAIN_S, self.timeout_keep_alive_handler)
