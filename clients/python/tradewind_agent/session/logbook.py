"""Where the records of a copy go: on disk first, from there to the service when there is one."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from tradewind.transfer import TransferRecord
from tradewind.wire.heartbeats import SpooledHeartbeat
from tradewind.wire.records import WireRecord
from tradewind_agent.errors import ServiceProblem, ServiceUnreachable, SpoolFailed
from tradewind_agent.history.observation_spool import ObservationSpool
from tradewind_agent.history.spool import Spool
from tradewind_agent.history.transfer_spool import TransferSpool

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client


_NOT_YET = "spooled, sent with the next"
"""Where another command, or another job of this one, is sending what waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logbook:
    """Records of transfers, and the ticks of those that were tuned.

    ``upload_budget_s`` : time for what has waited, this transfer's own included; what is left goes next time.
    """

    spool: Spool
    client: "Client | None" = None
    upload_budget_s: float = 30.0
    clock_s: Callable[[], float] = time.monotonic

    @property
    def transfers(self) -> TransferSpool:
        return TransferSpool(self.spool)

    @property
    def observations(self) -> ObservationSpool:
        return ObservationSpool(self.spool.folder)

    def store(self, records: Sequence[TransferRecord], ticks: Sequence[SpooledHeartbeat] | None = None) -> str:
        """Log ``records``; what became of them, as the end of a sentence about the log.

        Parameters
        ----------
        ticks : of a transfer that was tuned, as far as the service may not have them: it is told that it has ended.

        Raises
        ------
        SpoolFailed
        """
        if not records:
            return "has nothing to tell"
        if self.client is None:
            self.spool.append(records)
            return "spooled until `tradewind login`"
        transfer_id = records[0].transfer_id
        if ticks is None or transfer_id is None:
            kept = {segment.sha256 for segment in self.spool.append(records)}
        else:
            self.transfers.seal(transfer_id, [WireRecord.of(record) for record in records], ticks)
            kept = set()
        return self._delivered(self.client, kept, None if ticks is None else transfer_id)

    def _delivered(self, client: "Client", kept: set[str], sealed: UUID | None) -> str:
        """What became of the segments ``kept`` and the transfer ``sealed``, when all was sent that waits."""
        deadline_s = self.clock_s() + self.upload_budget_s

        def keep_going() -> bool:
            return self.clock_s() < deadline_s

        try:
            completions = self.transfers.drain(client, keep_going=keep_going)
            logs = self.spool.drain(client, keep_going=keep_going)
        except (ServiceUnreachable, ServiceProblem) as failure:
            return f"spooled: {failure}"
        given_up: list[str] = []
        with contextlib.suppress(ServiceUnreachable, ServiceProblem, SpoolFailed):  # they wait for the next time
            self.observations.drain(client, keep_going=keep_going, on_given_up=given_up.append)
        if logs.refused:
            return f"refused: {logs.refused[-1]}"
        but = "".join(f", but {told[-1]}" for told in (completions.refused, given_up) if told)
        waiting = {segment.sha256 for segment in self.spool.segments()}
        if sealed is not None and sealed not in completions.completed | completions.logged:
            return f"{_NOT_YET}{but}"
        return f"{_NOT_YET if kept & waiting else 'uploaded'}{but}"
