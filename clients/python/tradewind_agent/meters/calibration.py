"""Fit this host's power models to a ladder's steps, for later transfers and for the service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tradewind.energy.measured import EnergyMethod, compute_total_energy_j
from tradewind.energy.power_model import CalibrationSample, cross_validate, fit_cpu, fit_fine
from tradewind.errors import CannotFit, InvalidTrace
from tradewind.mobile.energy_split import slice_trace
from tradewind.mobile.profiles import ValueOrigin
from tradewind.units import format_count
from tradewind.wire.devices import NewDeviceProfile, WireSourced
from tradewind_agent.meters.ladder import LadderStep
from tradewind_agent.meters.power_trace import PowerTrace

LADDER = ("cpu", "disk", "memory", "nic")
"""What the ladder can load; the network only with a file of another host."""
NOT_LOADED = ("radio",)
_NAMES = {"nic": "network"}
"""Where users know a component by another name."""
LARGEST_ERROR_SHARE, NO_SPREAD = 0.8, 1e-6
"""A model errs by a fifth less than the mean of the other steps, else the load does not explain the power. That mean
errs by more than rounding, else there is nothing to explain."""
ENTIRE_HOST, SOCKETS_ONLY = "the whole host", "sockets only, without disks, network cards and losses of the supply"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Models of one host. Errors are mean absolute errors of unseen steps over the mean power.

    ``idle_w``, ``component_w`` : fine-grained. ``cpu_form``, ``cpu_knots`` : of the CPU-only model. ``meter_by`` : the
    one of less error, which later transfers are metered by. ``method``, ``source`` : who measured.
    """

    idle_w: float
    component_w: Mapping[str, float]
    fine_error: float
    cpu_form: str
    cpu_knots: Sequence[tuple[float, float]]
    cpu_error: float
    meter_by: str
    steps: int
    method: str
    source: str

    @property
    def covers(self) -> str:
        """What the models cover: what the meter counted."""
        return SOCKETS_ONLY if self.method == EnergyMethod.RAPL else ENTIRE_HOST

    @property
    def measured_w(self) -> Mapping[str, float]:
        """Power of the components themselves: with RAPL, a disk's is only what the sockets draw while it works.

        RAPL counts memory where it has a zone of it, which the source names.
        """
        unseen: tuple[str, ...] = ()
        if self.method == EnergyMethod.RAPL:
            unseen = ("disk", "nic") if "dram" in self.source else ("disk", "nic", "memory")
        return {name: power_w for name, power_w in self.component_w.items() if name not in unseen}

    @property
    def not_measured(self) -> tuple[str, ...]:
        """What the ladder does not load, or without effect: on tmpfs or overlay no disk is busier for it."""
        return (*(_NAMES.get(name, name) for name in LADDER if name not in self.measured_w), *NOT_LOADED)

    def build_device_profile(self, producer: str, model: str) -> NewDeviceProfile:
        """Build the device profile that the service stores."""
        source = f"{self.source}; cross-validated error {self.fine_error:.1%}"

        def build_sourced(value: float) -> WireSourced:
            return WireSourced(value=value, source=source, origin=ValueOrigin.CALIBRATED)

        return NewDeviceProfile(
            producer=producer,
            model=model,
            facts={
                "cpu_only_model": f"{self.cpu_form}, cross-validated error {self.cpu_error:.1%}",
                "covers": self.covers,
                "not_measured": ", ".join(self.not_measured),
            },
            idle_w=build_sourced(self.idle_w),
            component_w={name: build_sourced(watts) for name, watts in self.measured_w.items()},
        )


def calibrate(steps: Sequence[LadderStep], *, method: EnergyMethod, source: str) -> Calibration:
    """Fit both models, each step predicted by a fit of the others.

    Raises
    ------
    CannotFit : the steps do not determine them; most often something else kept the host busy all the while. Or the
        mean of the other steps predicts a step nearly as well: the power is not of what was loaded, or too unsteady.
    """
    samples = [CalibrationSample(step.number, step.usage, step.power_w) for step in steps if step.power_w is not None]
    try:
        fine, cpu = cross_validate(samples, fit_fine), cross_validate(samples, fit_cpu)
    except CannotFit as failure:
        raise CannotFit(f"{failure}; stop what else keeps this host busy, and calibrate again") from None
    of_means = _compute_error_of_means([sample.power_w for sample in samples])
    if of_means < NO_SPREAD or min(fine.error, cpu.error) > LARGEST_ERROR_SHARE * of_means:
        raise CannotFit("the power does not follow the load; see that the meter is this host's, and that it is idle")
    return Calibration(
        idle_w=fine.model.idle_w,
        component_w=fine.model.component_w,
        fine_error=fine.error,
        cpu_form=str(cpu.model.form),
        cpu_knots=cpu.model.knots,
        cpu_error=cpu.error,
        meter_by=str(EnergyMethod.CPU_MODEL if cpu.error < fine.error else EnergyMethod.FINE_MODEL),
        steps=len(samples),
        method=str(method),
        source=f"{source}, {format_count(len(samples), 'step')}",
    )


def _compute_error_of_means(powers_w: Sequence[float]) -> float:
    """Mean absolute error over the mean power, each step predicted by the mean of the others."""
    total_w, others = sum(powers_w), len(powers_w) - 1
    return sum(abs(power_w - (total_w - power_w) / others) for power_w in powers_w) / total_w


def add_trace(steps: Sequence[LadderStep], trace: PowerTrace) -> list[LadderStep]:
    """Return the steps with the mean power, W, that a meter's trace shows for them.

    Raises
    ------
    InvalidTrace : it does not cover a step; its clock is another, or it was stopped too early.
    """
    return [_add_trace(step, trace) for step in steps]


def _add_trace(step: LadderStep, trace: PowerTrace) -> LadderStep:
    first_s, last_s = trace.time_s[0], trace.time_s[-1]
    if not first_s <= step.started_s < step.finished_s <= last_s:
        raise InvalidTrace(
            "trace",
            f"covers {first_s:.0f} to {last_s:.0f}, not step {step.number + 1} from {step.started_s:.0f} to "
            f"{step.finished_s:.0f} (seconds of the day's clock since 1970); record it all the while, with that clock",
        )
    during = slice_trace(trace.time_s, trace.power_w, step.started_s, step.finished_s)
    power_w = compute_total_energy_j(*during) / (step.finished_s - step.started_s)
    return LadderStep(
        number=step.number, started_s=step.started_s, finished_s=step.finished_s, usage=step.usage, power_w=power_w
    )
