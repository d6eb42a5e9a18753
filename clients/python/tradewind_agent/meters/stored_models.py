"""Store the power models of a calibration for this user's later transfers."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tradewind.energy.measured import EnergyMethod
from tradewind.energy.power_model import CpuModel, CurveForm, FineModel
from tradewind_agent.errors import CalibrationUnusable
from tradewind_agent.folders import make_private, replace_durably
from tradewind_agent.meters.calibrated_model import CalibratedMeter
from tradewind_agent.meters.utilisation import describe_processors
from tradewind_agent.system_errors import explain_os_error

if TYPE_CHECKING:
    from tradewind_agent.meters.calibration import Calibration

FILE = "power_models.json"

_Read = TypeVar("_Read")


def store_calibration(calibration: "Calibration", folder: Path) -> Path:
    """Store the calibration in place of an older one, and return the file's path.

    Raises
    ------
    CalibrationUnusable
    """
    path = folder / FILE
    try:
        make_private(folder)
        replace_durably(path, json.dumps(asdict(calibration) | {"host": describe_processors()}).encode() + b"\n")
    except OSError as failure:
        raise CalibrationUnusable(f"{path} cannot be written: {explain_os_error(failure)}") from None
    return path


def load_calibrated_meter(folder: Path) -> CalibratedMeter | None:
    """Return the meter of the stored models; ``None`` without any.

    Raises
    ------
    CalibrationUnusable
    """
    return _read_file(folder, _build_meter)


def _build_meter(models: Mapping[str, Any]) -> CalibratedMeter:
    """Build the meter; a file of an older version does not name its host."""
    host = models.get("host")
    return CalibratedMeter(_parse_model(models), str(models["source"]), None if host is None else str(host))


def load_calibration(folder: Path) -> "Calibration | None":
    """Return the stored calibration, such as for the service; ``None`` without one.

    Raises
    ------
    CalibrationUnusable
    """
    return _read_file(folder, _build_calibration)


def _build_calibration(models: Mapping[str, Any]) -> "Calibration":
    from tradewind_agent.meters.calibration import Calibration  # noqa: PLC0415 -- no copy needs it

    if "cpu_knots" not in models:
        raise CalibrationUnusable("what is kept is of an older version; run `tradewind meter --calibrate` again")
    _parse_model(models)  # what it is metered by
    return Calibration(
        idle_w=float(models["idle_w"]),
        component_w={str(name): float(power_w) for name, power_w in models["component_w"].items()},
        fine_error=float(models["fine_error"]),
        cpu_form=str(CurveForm(models["cpu_form"])),
        cpu_knots=[(float(load), float(power_w)) for load, power_w in models["cpu_knots"]],
        cpu_error=float(models["cpu_error"]),
        meter_by=str(EnergyMethod(models["meter_by"])),
        steps=int(models["steps"]),
        method=str(EnergyMethod(models["method"])),
        source=str(models["source"]),
    )


def _read_file(folder: Path, read: Callable[[Mapping[str, Any]], _Read]) -> _Read | None:
    path = folder / FILE
    try:
        return read(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise CalibrationUnusable(f"{path} cannot be read: {explain_os_error(failure)}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CalibrationUnusable(f"{path} is damaged; run `tradewind meter --calibrate` again, or remove it") from None


def _parse_model(models: Mapping[str, Any]) -> FineModel | CpuModel:
    """Return the model that the calibration found better; a file of an older version holds the fine one alone."""
    if models.get("meter_by") != EnergyMethod.CPU_MODEL:
        watts = {str(name): float(power_w) for name, power_w in models["component_w"].items()}
        return FineModel(float(models["idle_w"]), watts)
    knots = tuple((float(load), float(power_w)) for load, power_w in models["cpu_knots"])
    if len(knots) < 2 or sorted(knots) != list(knots):
        raise ValueError("cpu_knots")
    return CpuModel(CurveForm(models["cpu_form"]), knots)
