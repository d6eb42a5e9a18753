"""Energy of this host by transfer: metered while a transfer with an id is live, shared out, and stored for a while."""

import asyncio
import contextlib
from collections.abc import Callable
from uuid import UUID

from tradewind.energy.measured import EnergyQuality, compute_energy_above_base_j
from tradewind_agent.meters import HostCounters, MeterUnavailable
from tradewind_agent.meters.meter import find_resolution_s
from tradewind_agent.meters.steady import SteadyEnergy
from tradewind_agent.serve.energy_shares import EnergyInterval, TransferAccount, share_out
from tradewind_agent.session.metering import SAMPLE_INTERVAL_S, HostMeter
from tradewind_agent.session.server_energy import ServerEnergyReport, ServerMeter
from tradewind_agent.session.transfer_naming import parse_transfer_id

MAX_TRANSFERS = 256
"""Accounts stored at once; a further transfer replaces the one that was silent for longest."""

ACCOUNT_LIFETIME_S = 600.0
"""Lifetime of an account after its last request."""

LIVENESS_S = 5.0
"""A transfer without a request for this time is not metered until its next one."""

LEAST_INTERVAL_S = 0.1
"""Least time between two samples, which cost milliseconds of CPU time, however many new ids clients send."""


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
        self._sharers: list[TransferAccount] = []  # those that share what the host takes now
        self._interval = EnergyInterval()  # since the party is the same
        self._base_w: float | None = None
        self._task: asyncio.Task[None] | None = None
        self._sample_requested = asyncio.Event()
        self._sampled = asyncio.Event()  # set for a moment after each sample
        self._last: tuple[HostCounters, float] | None = None
        self._steady = SteadyEnergy()
        self._logical_cpus = 1
        self._started_samples = self._finished_samples = 0  # samples

    async def start(self) -> None:
        """Measure the host's base power, where the meter does not know it, before there is any transfer."""
        self._base_w = await self._host.measure_base_power_w()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    @property
    def described(self) -> ServerMeter:
        meter = self._host.choice.meter
        return ServerMeter(method=meter.method, quality=meter.quality)

    def start_request(self, transfer_name: str | None) -> TransferAccount:
        """Count the start of a request that names this transfer, and return its account; add its bytes there.

        A request that names no transfer, or one too many, gets the account that all others share.
        """
        account = (
            self._others
            if transfer_name is None
            else self._accounts.get(transfer_name) or self._open_account(transfer_name)
        )
        account.open_requests += 1
        account.active_s = self._clock()
        account.is_over = False
        if account is not self._others and not self._sampling:
            self._task = asyncio.get_running_loop().create_task(self._sample_while_live())
        return account

    def finish_request(self, account: TransferAccount) -> None:
        account.open_requests -= 1
        account.active_s = self._clock()

    async def report(self, transfer_id: UUID, *, is_over: bool = True) -> ServerEnergyReport | str | None:
        """Return what a transfer took; why that is not known; or ``None`` for one that never came by.

        ``is_over`` : no more is counted, unless another request of the transfer comes.
        """
        account = self._accounts.get(str(transfer_id))
        if account is None:
            return None
        needed_samples = self._started_samples + 1
        while (
            self._sampling
            and not account.is_over
            and account.failure is None
            and (self._finished_samples < needed_samples or not account.duration_s)
        ):
            self._sample_requested.set()
            await self._sampled.wait()
        if is_over:
            account.is_over = True
            self._sample_requested.set()
        if account.failure is not None or not account.duration_s:
            return account.failure or "it could not be metered"
        if account.energy_j == 0 and not account.was_steady:
            return "the meter counted nothing meanwhile"
        return self._make_report(transfer_id, account)

    def _make_report(self, transfer_id: UUID, account: TransferAccount) -> ServerEnergyReport:
        meter = self._host.choice.meter
        base_w = dynamic_j = None
        if self._base_w is not None:
            base_j = self._base_w * account.base_s
            base_w, dynamic_j = base_j / account.duration_s, compute_energy_above_base_j(account.energy_j, base_j)
        is_resolved = account.duration_s >= find_resolution_s(meter)
        is_measured = account.was_alone and account.was_steady and is_resolved
        return ServerEnergyReport(
            transfer_id=transfer_id,
            duration_s=account.duration_s,
            moved_bytes=account.moved_bytes,
            total_j=account.energy_j,
            dynamic_j=dynamic_j,
            base_w=base_w,
            method=meter.method,
            quality=meter.quality if is_measured else EnergyQuality.ASSUMED,
            cpu_s=account.cpu_s,
            logical_cpus=self._logical_cpus,
        )

    # Accounts

    def _open_account(self, transfer_name: str) -> TransferAccount:
        """Return a new account; that of all others where the name is no id or every account is in use."""
        if parse_transfer_id(transfer_name) is None:
            return self._others
        self._forget()
        if len(self._accounts) >= MAX_TRANSFERS:
            return self._others
        self._accounts[transfer_name] = account = TransferAccount()
        self._sample_requested.set()  # what came before belongs to the transfers that were there already
        return account

    def _forget(self) -> None:
        """Drop expired accounts; where all places are taken, also the one that was silent for longest."""
        silent = sorted((each.active_s, name) for name, each in self._accounts.items() if not each.open_requests)
        oldest_s = self._clock() - ACCOUNT_LIFETIME_S
        stale = sum(active_s < oldest_s for active_s, _ in silent)
        for _, name in silent[: max(stale, len(self._accounts) >= MAX_TRANSFERS)]:
            del self._accounts[name]

    def _list_live(self) -> list[TransferAccount]:
        since_s = self._clock() - LIVENESS_S
        return [
            each
            for each in self._accounts.values()
            if each.open_requests or (each.active_s > since_s and not each.is_over)
        ]

    # Samples

    @property
    def _sampling(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _sample_while_live(self) -> None:
        self._last, self._sharers, self._steady = None, [], SteadyEnergy()
        try:
            while self._list_live():
                await self._sample()
                await asyncio.sleep(LEAST_INTERVAL_S)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SAMPLE_INTERVAL_S - LEAST_INTERVAL_S):
                        await self._sample_requested.wait()
        finally:
            self._wake_waiters()

    async def _sample(self) -> None:
        cut = self._sample_requested.is_set()
        self._sample_requested.clear()
        self._started_samples += 1
        try:
            counters, energy_j = await asyncio.to_thread(self._read)
        except (MeterUnavailable, OSError) as error:
            self._last, self._sharers, self._steady = None, [], SteadyEnergy()
            for account in self._list_live():
                account.failure = account.failure or str(error)
        else:
            if self._last is not None and counters.at_s > self._last[0].at_s:
                is_steady, self._steady.irregularity = self._steady.irregularity is None, None
                self._interval += _subtract(self._last, (counters, energy_j), is_steady=is_steady)
            self._last, self._logical_cpus = (counters, energy_j), counters.logical_cpus
            self._update_sharers(cut=cut)
        self._finished_samples += 1
        self._wake_waiters()

    def _update_sharers(self, *, cut: bool) -> None:
        """Share out the interval if it ends now: a report was requested, or the set of sharers changes."""
        live = self._list_live()
        if cut or live != self._sharers:
            sharers = [each for each in self._sharers if not each.is_over]
            if sharers and self._interval.duration_s:
                share_out(self._interval, sharers, self._others)
            self._sharers, self._interval = live, EnergyInterval()
            self._others.attributed_bytes = self._others.moved_bytes

    def _read(self) -> tuple[HostCounters, float]:
        counters = self._host.reader.read()
        return counters, self._steady.correct(counters.at_s, self._host.choice.meter.read_energy_j(counters))

    def _wake_waiters(self) -> None:
        """Wake the reports that wait for a sample."""
        self._sampled.set()
        self._sampled.clear()


def _subtract(
    earlier: tuple[HostCounters, float], later: tuple[HostCounters, float], *, is_steady: bool
) -> EnergyInterval:
    (before, before_j), (after, after_j) = earlier, later
    return EnergyInterval(after.at_s - before.at_s, after_j - before_j, after.tree_cpu_s - before.tree_cpu_s, is_steady)
