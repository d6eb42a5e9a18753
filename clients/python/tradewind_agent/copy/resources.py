"""The resources of one copy: what the user limits, what the plan recommends, and who holds it.

The engine moves every byte of the copy, and so holds its network and disk rate itself; cores, frequency and memory are
the host's to limit. What is only recommended is applied where the user has asked for that, else told.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tradewind.parameters import Parameters
from tradewind.transfer import Direction
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.resources.applied import Advice, Applied, Enforced, Verdict
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import RESOURCES, Limits
from tradewind_agent.session.planning import Plan
from tradewind_agent.transport.choosing import read_congestion_control

_OF_THE_ENGINE = ("nic_bps", "disk_bps")
_NOT_ASKED_FOR = "it is recommended; --apply-resources applies what is recommended"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyResources:
    """What became of the limits of a copy that is running.

    ``engine`` : its options, with the rate that it is to keep. ``congestion_control`` : that uploads are sent by; None
    for downloads, which the other end sends.
    """

    applied: Applied
    by_engine: tuple[Enforced, ...]
    not_applied: tuple[Advice, ...]
    engine: EngineOptions
    congestion_control: str | None

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return (*self.applied.enforced, *self.by_engine, *self.applied.advice, *self.not_applied)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user has to know: limits that nothing holds, and what could not be undone."""
        advice = (*self.applied.advice, *self.not_applied)
        return (*(str(each) for each in advice), *self.applied.left)

    def apply_to_plan(self, plan: Plan) -> Plan:
        """The plan as records tell it: with what was in force, whatever was recommended."""
        parameters = Applied((*self.applied.enforced, *self.by_engine)).parameters
        resources = {name: getattr(parameters, name) for name in RESOURCES}

        def of(planned: Parameters) -> Parameters:
            return replace(planned, **resources, congestion_control=self.congestion_control)

        return replace(plan, chunks=tuple(chunk._replace(parameters=of(chunk.parameters)) for chunk in plan.chunks))


def select_limits(plan: Plan, options: CopyOptions) -> tuple[Limits, tuple[Advice, ...]]:
    """What is to be limited, and what is only recommended."""
    own = options.resources.or_else(Limits.of(options.by_hand))
    recommended = Limits.of(plan.parameters)
    wanted = own.or_else(recommended) if options.apply_resources else own
    left = recommended.without(*wanted.known()).known()
    return wanted, tuple(Advice(name, value, _NOT_ASKED_FOR) for name, value in left.items())


@contextmanager
def hold_resources(
    plan: Plan, direction: Direction, options: CopyOptions, limiter: ResourceLimiter
) -> Iterator[CopyResources]:
    """Limit this process, and the engine that is to run in it, until the end of the block."""
    wanted, not_applied = select_limits(plan, options)
    with limiter.apply(wanted.without(*_OF_THE_ENGINE)) as applied:
        yield CopyResources(
            applied=applied,
            by_engine=tuple(_by_engine(wanted, direction, options.engine)),
            not_applied=not_applied,
            engine=_limited(options.engine, wanted),
            congestion_control=read_congestion_control(options.engine.congestion_control)
            if direction is Direction.UPLOAD
            else None,
        )


def _read_congestion_control(engine: EngineOptions, direction: Direction) -> str | None:
    """Return the congestion control that uploads are sent by; ``None`` for downloads, which the server sends."""
    return read_congestion_control(engine.congestion_control) if direction is Direction.UPLOAD else None


def _by_engine(wanted: Limits, direction: Direction, engine: EngineOptions) -> Iterator[Enforced]:
    if wanted.nic_bps is not None:
        yield Enforced("nic_bps", wanted.nic_bps, "the engine's own rate")
    if wanted.disk_bps is not None:
        at_disk = "reads what it sends" if direction is Direction.UPLOAD else "writes what it receives"
        apart = ", reading for checksums apart" if engine.checksum else ""
        yield Enforced("disk_bps", wanted.disk_bps, f"the rate of the engine, which {at_disk}{apart}")


def _limited(engine: EngineOptions, wanted: Limits) -> EngineOptions:
    """The engine at the lowest of the rates that are to be kept."""
    rates_bps = [rate for rate in (wanted.nic_bps, wanted.disk_bps) if rate is not None]
    if engine.rate_bytes_per_s is not None:
        rates_bps.append(BITS_PER_BYTE * engine.rate_bytes_per_s)
    return replace(engine, rate_bytes_per_s=min(rates_bps) / BITS_PER_BYTE) if rates_bps else engine
