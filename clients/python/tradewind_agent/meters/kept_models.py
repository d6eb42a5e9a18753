"""The power models that a calibration has left for this user's later transfers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tradewind_agent.errors import CalibrationUnusable
from tradewind_agent.folders import make_private, replace_durably
from tradewind_agent.meters.fine_model import FineModelMeter
from tradewind_agent.system_errors import in_words

FILE = "power_models.json"


def keep_models(models: Mapping[str, Any], folder: Path) -> Path:
    """Keep what `kept_meter` needs, and whatever else is told; the file's path.

    Raises
    ------
    CalibrationUnusable
    """
    path = folder / FILE
    try:
        make_private(folder)
        replace_durably(path, json.dumps(models).encode() + b"\n")
    except OSError as failure:
        raise CalibrationUnusable(f"{path} cannot be written: {in_words(failure)}") from None
    return path


def kept_meter(folder: Path) -> FineModelMeter | None:
    """The meter of the models that were kept; ``None`` where there are none.

    Raises
    ------
    CalibrationUnusable
    """
    path = folder / FILE
    try:
        models = json.loads(path.read_bytes())
        watts = models["component_w"]
        return FineModelMeter(
            idle_w=float(models["idle_w"]),
            cpu_w=float(watts.get("cpu", 0.0)),
            disk_w=float(watts.get("disk", 0.0)),
            source=str(models["source"]),
        )
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise CalibrationUnusable(f"{path} cannot be read: {in_words(failure)}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CalibrationUnusable(f"{path} is damaged; run `tradewind meter --calibrate` again, or remove it") from None
