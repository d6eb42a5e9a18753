"""Energy of this host by transfer: metered while any that names itself is live, shared out, kept for a while."""

import asyncio
import contextlib
from collections.abc import Callable
from uuid import UUID

from tradewind.energy.measured import EnergyQuality, energy_above_base_j
from tradewind_agent.meters import HostCounters, MeterUnavailable
from tradewind_agent.serve.energy_shares import EnergyInterval, TransferAccount, share_out
from tradewind_agent.session.metering import SAMPLE_INTERVAL_S, HostMeter
from tradewind_agent.session.server_energy import ServerEnergyReport, ServerMeter
from tradewind_agent.session.transfer_naming import parse_transfer_id

MAX_TRANSFERS = 256
"""Accounts kept at once; a further transfer takes the place of the one that was silent for longest."""

ACCOUNT_LIFETIME_S = 600.0
"""An account is kept for so long after its last request."""

LIVENESS_S = 5.0
"""A transfer without a request for so long is not metered on until its next one."""

LEAST_INTERVAL_S = 0.1
"""Between two samples, which cost milliseconds of CPU time: whoever sends ever new ids must not cause more."""


class TransferMeters:
    """Accounts of transfers, by the id that their requests name.

    Parameters
    ----------
    clock : seconds, monotonic.
    """

    def __init__(self, meter: HostMeter, clock: Callable[[], float]) -> None:
        self._host, self._clock = meter, clock
        self._accounts: dict[str, TransferAccount] = {}
        self._others = TransferAccount()
        self._party: list[TransferAccount] = []  # those that share what the host takes now
        self._interval = EnergyInterval()  # since the party is the same
        self._base_w: float | None = None
        self._task: asyncio.Task[None] | None = None
        self._due = asyncio.Event()
        self._sampled = asyncio.Event()  # set for a moment after each sample
        self._last: tuple[HostCounters, float] | None = None
        self._logical_cpus = 1
        self._begun = self._done = 0  # samples

    async def start(self) -> None:
        """Measure the host's base power, where the meter does not know it, before there is any transfer."""
        self._base_w = await self._host.base_power_w()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    @property
    def described(self) -> ServerMeter:
        meter = self._host.choice.meter
        return ServerMeter(method=meter.method, quality=meter.quality)

    def begin(self, named: str | None) -> TransferAccount:
        """A request begins that names this transfer, or none that can be metered; its bytes go to the account."""
        account = self._others if named is None else self._accounts.get(named) or self._opened(named)
        account.open_requests += 1
        account.active_s = self._clock()
        account.over = False
        if account is not self._others and not self._sampling:
            self._task = asyncio.get_running_loop().create_task(self._sample_while_live())
        return account

    def end(self, account: TransferAccount) -> None:
        account.open_requests -= 1
        account.active_s = self._clock()

    async def report(self, transfer_id: UUID, *, is_over: bool = True) -> ServerEnergyReport | str | None:
        """What a transfer took; why that is not known; or ``None`` for one that never came by.

        ``is_over`` : no more is counted, unless another request of the transfer comes.
        """
        account = self._accounts.get(str(transfer_id))
        if account is None:
            return None
        wanted = self._begun + 1
        while (
            self._sampling
            and not account.over
            and account.failure is None
            and (self._done < wanted or not account.duration_s)
        ):
            self._due.set()
            await self._sampled.wait()
        if is_over:
            account.over = True
            self._due.set()
        if account.failure is not None or not account.duration_s:
            return account.failure or "it could not be metered"
        return self._reported(transfer_id, account)

    def _reported(self, transfer_id: UUID, account: TransferAccount) -> ServerEnergyReport:
        meter = self._host.choice.meter
        base_w = dynamic_j = None
        if self._base_w is not None:
            base_j = self._base_w * account.base_s
            base_w, dynamic_j = base_j / account.duration_s, energy_above_base_j(account.energy_j, base_j)
        return ServerEnergyReport(
            transfer_id=transfer_id,
            duration_s=account.duration_s,
            moved_bytes=account.moved_bytes,
            total_j=account.energy_j,
            dynamic_j=dynamic_j,
            base_w=base_w,
            method=meter.method,
            quality=meter.quality if account.was_alone else EnergyQuality.ASSUMED,
            cpu_s=account.cpu_s,
            logical_cpus=self._logical_cpus,
        )

    # Accounts

    def _opened(self, named: str) -> TransferAccount:
        """A new account; that of all others where the name is no id or every account is in use."""
        if parse_transfer_id(named) is None:
            return self._others
        self._forget()
        if len(self._accounts) >= MAX_TRANSFERS:
            return self._others
        self._accounts[named] = account = TransferAccount()
        self._due.set()  # what came before belongs to the transfers that were there already
        return account

    def _forget(self) -> None:
        """Drop accounts that nobody asks for any more; where all places are taken, the one silent for longest."""
        silent = sorted((each.active_s, name) for name, each in self._accounts.items() if not each.open_requests)
        oldest_s = self._clock() - ACCOUNT_LIFETIME_S
        stale = sum(active_s < oldest_s for active_s, _ in silent)
        for _, name in silent[: max(stale, len(self._accounts) >= MAX_TRANSFERS)]:
            del self._accounts[name]

    def _live(self) -> list[TransferAccount]:
        since_s = self._clock() - LIVENESS_S
        return [
            each
            for each in self._accounts.values()
            if each.open_requests or (each.active_s > since_s and not each.over)
        ]

    # Samples

    @property
    def _sampling(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _sample_while_live(self) -> None:
        self._last, self._party = None, []
        try:
            while self._live():
                await self._sample()
                await asyncio.sleep(LEAST_INTERVAL_S)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SAMPLE_INTERVAL_S - LEAST_INTERVAL_S):
                        await self._due.wait()
        finally:
            self._tell()

    async def _sample(self) -> None:
        cut = self._due.is_set()
        self._due.clear()
        self._begun += 1
        try:
            counters, energy_j = await asyncio.to_thread(self._read)
        except (MeterUnavailable, OSError) as error:
            self._last, self._party = None, []
            for account in self._live():
                account.failure = account.failure or str(error)
        else:
            if self._last is not None and counters.at_s > self._last[0].at_s:
                self._interval += _subtract(self._last, (counters, energy_j))
            self._last, self._logical_cpus = (counters, energy_j), counters.logical_cpus
            self._form_party(cut=cut)
        self._done += 1
        self._tell()

    def _form_party(self, *, cut: bool) -> None:
        """Share out the interval where it ends here, because it is asked for or others share what comes."""
        live = self._live()
        if cut or live != self._party:
            party = [each for each in self._party if not each.over]
            if party and self._interval.duration_s:
                share_out(self._interval, party, self._others)
            self._party, self._interval = live, EnergyInterval()
            self._others.settled_bytes = self._others.moved_bytes

    def _read(self) -> tuple[HostCounters, float]:
        counters = self._host.reader.read()
        return counters, self._host.choice.meter.energy_j(counters)

    def _tell(self) -> None:
        """Wake whoever waits for a sample."""
        self._sampled.set()
        self._sampled.clear()


def _subtract(earlier: tuple[HostCounters, float], later: tuple[HostCounters, float]) -> EnergyInterval:
    (before, before_j), (after, after_j) = earlier, later
    return EnergyInterval(after.at_s - before.at_s, after_j - before_j, after.tree_cpu_s - before.tree_cpu_s)
