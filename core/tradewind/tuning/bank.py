"""What a transfer has gained or lost against its SLA so far, and what it must reach from now on to meet it.

Notation
--------
b    bank of a throughput SLA, ∫ (T − T_sla) dt, bits, within [−B, B]
B    95th percentile of past deficits; without history 30 s of the target
κ    how far above the target an empty bank aims (001 §IV-B, opportunistic increase): T_sla · (1 + κ · (1 − b/B))

Energy has a bank too (opportunistic decrease): what is left of the agreed joules bounds what each byte left may cost.
"""

import math
from dataclasses import dataclass

from tradewind.sla.kinds import AS_FAST_AS_PERMITTED, EnergyBasis, SlaKind
from tradewind.tiers.setting_table import QUANTITY_OF, Objective
from tradewind.tuning.basis import Basis
from tradewind.units import BITS_PER_BYTE

KAPPA = 0.1
DEFAULT_BANK_S = 30.0

POWER_HORIZON_S = 60.0
"""Watts saved or overspent so far are balanced over this time, s …"""

POWER_LEEWAY = 0.2
"""… but the permitted power stays within this share of the SLA's mean."""

DEADLINE_RESERVE = 0.05
"""Share of the remaining time that is kept in reserve, because the last files do not fill all channels."""

MIN_TIME_LEFT_S = 1.0


@dataclass(frozen=True, slots=True)
class Bank:
    """Account of the transfer so far: ``bits`` is b, ``used_j`` the energy on the SLA's basis."""

    bits: float = 0.0
    used_j: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What the next setting must reach, and what decides among the settings that do.

    ``floor_bps`` : least throughput. ``ceiling_w`` : most power. ``ceiling_j_per_byte`` : most energy of a byte.
    """

    objective: Objective
    floor_bps: float | None = None
    ceiling_w: float | None = None
    ceiling_j_per_byte: float | None = None

    @property
    def has_bounds(self) -> bool:
        return self.floor_bps is not None or self.ceiling_w is not None or self.ceiling_j_per_byte is not None

    def relax(self, log_share: float) -> "Goal":
        """Return this goal with every bound relaxed by the factor exp(``log_share``)."""
        factor = math.exp(log_share)
        return Goal(
            objective=self.objective,
            floor_bps=None if self.floor_bps is None else self.floor_bps / factor,
            ceiling_w=None if self.ceiling_w is None else self.ceiling_w * factor,
            ceiling_j_per_byte=None if self.ceiling_j_per_byte is None else self.ceiling_j_per_byte * factor,
        )

    def is_met_by(self, throughput_bps: float, power_w: float | None, j_per_byte: float | None) -> bool:
        """Return whether a tick with these values meets the goal; a value that was not measured violates no bound."""
        return (
            (self.floor_bps is None or throughput_bps >= self.floor_bps)
            and (self.ceiling_w is None or power_w is None or power_w <= self.ceiling_w)
            and (self.ceiling_j_per_byte is None or j_per_byte is None or j_per_byte <= self.ceiling_j_per_byte)
        )


def compute_bank_limit_bits(basis: Basis, target_bps: float) -> float:
    """Return B, bits."""
    return basis.bank_limit_bits or DEFAULT_BANK_S * target_bps


def credit_bank(bank: Bank, basis: Basis, *, throughput_bps: float, power_w: float | None, interval_s: float) -> Bank:
    """Return the account after ``interval_s`` seconds at this rate; ``power_w`` is total power, ``None`` if unknown."""
    bits = bank.bits
    if basis.sla.kind is SlaKind.THROUGHPUT_AT_LEAST and basis.target is not None:
        limit = compute_bank_limit_bits(basis, basis.target)
        bits = max(-limit, min(bits + (throughput_bps - basis.target) * interval_s, limit))
    spent_w = 0.0 if power_w is None else compute_above_base_w(basis, power_w)
    return Bank(bits, bank.used_j + spent_w * interval_s)


def estimate_bank(basis: Basis, *, remaining_bytes: int, elapsed_s: float, power_w: float | None) -> Bank:
    """Return the bank of a transfer whose state was lost, as if rate and power had been constant so far."""
    if elapsed_s <= 0:
        return Bank()
    done_bits = BITS_PER_BYTE * max(basis.total_bytes - remaining_bytes, 0)
    return credit_bank(Bank(), basis, throughput_bps=done_bits / elapsed_s, power_w=power_w, interval_s=elapsed_s)


def compute_above_base_w(basis: Basis, power_w: float) -> float:
    """Return the power on the SLA's basis."""
    return power_w - (basis.idle_power_w or 0.0) if basis.sla.energy_basis is EnergyBasis.DYNAMIC else power_w


def compute_bank_balance(bank: Bank, basis: Basis, *, remaining_bytes: int, elapsed_s: float) -> float:
    """Return the value of ``sla_bank``: bits ahead of the SLA's throughput or schedule, or joules below its budget."""
    target, kind = basis.target, basis.sla.kind
    if target is None:
        return 0.0
    if kind is SlaKind.THROUGHPUT_AT_LEAST:
        return bank.bits
    done_bytes = max(basis.total_bytes - remaining_bytes, 0)
    if kind is SlaKind.DEADLINE:
        return BITS_PER_BYTE * done_bytes - target * elapsed_s
    allowed_j = target * (done_bytes if kind is SlaKind.ENERGY_AT_MOST else elapsed_s)
    return allowed_j - bank.used_j


def set_goal(bank: Bank, basis: Basis, *, remaining_bytes: int, elapsed_s: float, knows_power: bool) -> Goal:
    """Return the goal from now on."""
    kind, target = basis.sla.kind, basis.target
    objective = _build_objective(kind, knows_power=knows_power)
    if QUANTITY_OF.get(kind) is None:
        return Goal(objective=objective)
    if target is None:  # a share of a maximum that nobody knows, or nothing to move
        return Goal(objective=Objective.SLOWNESS)
    if kind is SlaKind.THROUGHPUT_AT_LEAST:
        limit = compute_bank_limit_bits(basis, target)
        return Goal(objective=objective, floor_bps=target * (1 + KAPPA * (1 - bank.bits / limit)))
    if kind is SlaKind.DEADLINE:
        assert basis.sla.target is not None
        left_s = (basis.sla.target - elapsed_s) * (1 - DEADLINE_RESERVE)
        return Goal(objective=objective, floor_bps=BITS_PER_BYTE * remaining_bytes / max(left_s, MIN_TIME_LEFT_S))
    if kind is SlaKind.ENERGY_AT_MOST:
        left_j = target * basis.total_bytes - bank.used_j
        return Goal(objective=objective, ceiling_j_per_byte=max(left_j, 0.0) / max(remaining_bytes, 1))
    saved_w = (target * elapsed_s - bank.used_j) / POWER_HORIZON_S
    leeway_w = POWER_LEEWAY * target
    return Goal(objective=objective, ceiling_w=target + max(-leeway_w, min(saved_w, leeway_w)))


def _build_objective(kind: SlaKind, *, knows_power: bool) -> Objective:
    if kind in AS_FAST_AS_PERMITTED:
        return Objective.SLOWNESS
    if knows_power:
        return Objective.EFFICIENCY if kind is SlaKind.ENERGY_EFFICIENCY else Objective.ENERGY
    return Objective.STREAMS if QUANTITY_OF.get(kind) is not None else Objective.SLOWNESS


def compute_energy_per_byte(basis: Basis, *, throughput_bps: float, power_w: float) -> float:
    """Return the energy of a byte on the SLA's basis, J; the rate must be above 0."""
    return BITS_PER_BYTE * compute_above_base_w(basis, power_w) / throughput_bps
