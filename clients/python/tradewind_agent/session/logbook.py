"""The logbook stores the records of a transfer on disk, and sends them to the service if there is one."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from tradewind.transfer import TransferRecord
from tradewind_agent.errors import ServiceProblem, ServiceUnreachable, SpoolFailed
from tradewind_agent.history.observation_spool import ObservationSpool
from tradewind_agent.history.spool import Spool

if TYPE_CHECKING:
    from tradewind.wire.heartbeats import SpooledHeartbeat
    from tradewind_agent.history.transfer_spool import TransferSpool
    from tradewind_agent.service.client import Client


_NOT_YET = "spooled, sent with the next"
"""Result where another command, or another job of this one, is sending what waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logbook:
    """Stores records of transfers, and the ticks of tuned ones, and uploads what waits.

    ``upload_budget_s`` : time for everything that waits, including this transfer; the rest is sent next time.
    """

    spool: Spool
    client: "Client | None" = None
    upload_budget_s: float = 30.0
    clock_s: Callable[[], float] = time.monotonic

    @property
    def transfers(self) -> "TransferSpool":
        from tradewind_agent.history.transfer_spool import TransferSpool  # noqa: PLC0415 -- loads the wire models

        return TransferSpool(self.spool)

    @property
    def observations(self) -> ObservationSpool:
        return ObservationSpool(self.spool.folder)

    def store(self, records: Sequence[TransferRecord], ticks: "Sequence[SpooledHeartbeat] | None" = None) -> str:
        """Log ``records`` and return what became of them, as the end of a sentence about the log.

        Parameters
        ----------
        ticks : of a tuned transfer, as far as the service may not have them; the service then also learns that the
            transfer has finished.

        Raises
        ------
        SpoolFailed
        """
        if not records:
            return "is empty"
        if self.client is None:
            self.spool.append(records)
            return "spooled until `tradewind login`"
        transfer_id = records[0].transfer_id
        if ticks is None or transfer_id is None:
            stored = {segment.sha256 for segment in self.spool.append(records)}
        else:
            from tradewind.wire.records import WireRecord  # noqa: PLC0415 -- a copy without a service does without

            self.transfers.seal(transfer_id, [WireRecord.from_domain(record) for record in records], ticks)
            stored = set()
        return self._deliver(self.client, stored, None if ticks is None else transfer_id)

    def _deliver(self, client: "Client", stored: set[str], sealed: UUID | None) -> str:
        """Send all that waits; return what became of the segments ``stored`` and of the transfer ``sealed``."""
        deadline_s = self.clock_s() + self.upload_budget_s

        def keep_going() -> bool:
            return self.clock_s() < deadline_s

        try:
            completions = self.transfers.drain(client, keep_going=keep_going)
            logs = self.spool.drain(client, keep_going=keep_going)
        except (ServiceUnreachable, ServiceProblem) as failure:
            return f"spooled: {failure}"
        given_up: list[str] = []
        with contextlib.suppress(ServiceUnreachable, ServiceProblem, SpoolFailed):  # observations wait for next time
            self.observations.drain(client, keep_going=keep_going, on_given_up=given_up.append)
        if logs.refused:
            return f"refused: {logs.refused[-1]}"
        but = "".join(f", but {lines[-1]}" for lines in (completions.refused, given_up) if lines)
        waiting = {segment.sha256 for segment in self.spool.list_segments()}
        if sealed is not None and sealed not in completions.completed | completions.logged:
            return f"{_NOT_YET}{but}"
        return f"{_NOT_YET if stored & waiting else 'uploaded'}{but}"
