"""Power of this host by IPMI DCMI, as ``ipmitool dcmi power reading`` prints it: the entire host, at its supplies."""

import os
import re
import shutil
import subprocess

from tradewind_agent.meters.external.gauge import GaugeMeter
from tradewind_agent.meters.meter import MeterUnavailable

TOOL = "ipmitool"
RENEW_S = 1.0
"""Controllers average over a second."""
TIMEOUT_S = 10.0

_POWER = re.compile(r"^\s*Instantaneous power reading\s*:\s*(\d+)\s*Watts", re.MULTILINE)
_STATE = re.compile(r"^\s*Power reading state is\s*:\s*(\S+)", re.MULTILINE)


def open_dcmi_meter(tool: str = TOOL) -> GaugeMeter:
    """Return the meter of this host's management controller.

    Raises
    ------
    MeterUnavailable : the tool is not installed, the user may not open the device, or there is no such reading.
    """
    path = shutil.which(tool)
    if path is None:
        raise MeterUnavailable(f"{tool} is not installed")
    return GaugeMeter(
        read_power_w=lambda: _read_power_w(path), description="IPMI DCMI: the whole host", renew_s=RENEW_S
    )


def _read_power_w(path: str) -> float:
    try:
        done = subprocess.run(
            [path, "dcmi", "power", "reading"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise MeterUnavailable(f"{TOOL} gives no power within {TIMEOUT_S:g} s") from None
    except OSError as failure:
        raise MeterUnavailable(f"{path} cannot be run: {failure.strerror}") from failure
    return parse_power_w(done.stdout, done.stderr)


def parse_power_w(output: str, errors: str = "") -> float:
    """Return the power that the tool has printed, W.

    Raises
    ------
    MeterUnavailable : it has printed none, or the controller's measurement is switched off.
    """
    if (state := _STATE.search(output)) is not None and not state[1].lower().startswith("activ"):
        raise MeterUnavailable(f"the controller's power reading is {state[1]}")
    if (power := _POWER.search(output)) is not None:
        return float(power[1])
    reason = next((line.strip() for line in (errors + "\n" + output).splitlines() if line.strip()), "it prints nothing")
    advice = "; reading it needs root, or access to /dev/ipmi0" if "open device" in reason.lower() else ""
    raise MeterUnavailable(f"{TOOL} gives no power: {reason}{advice}")
