"""Utilisation and power of this end system; every value has its method and quality."""

from tradewind_agent.meters.battery import BatteryMeter
from tradewind_agent.meters.calibrated_model import CalibratedMeter
from tradewind_agent.meters.choice import MeterChoice, choose_meter
from tradewind_agent.meters.cpu_model import (
    CpuModelMeter,
    CpuWork,
    PowerProfile,
    build_assumed_profile,
    build_calibrated_profile,
    reprice,
)
from tradewind_agent.meters.meter import Meter, MeterUnavailable
from tradewind_agent.meters.rapl import RaplMeter
from tradewind_agent.meters.session import LiveSample, MeterResult, MeterSession, OtherEndSample, measure_base_power
from tradewind_agent.meters.utilisation import HostCounters, HostReader, compute_usage

__all__ = [
    "BatteryMeter",
    "CalibratedMeter",
    "CpuModelMeter",
    "CpuWork",
    "HostCounters",
    "HostReader",
    "LiveSample",
    "Meter",
    "MeterChoice",
    "MeterResult",
    "MeterSession",
    "MeterUnavailable",
    "OtherEndSample",
    "PowerProfile",
    "RaplMeter",
    "build_assumed_profile",
    "build_calibrated_profile",
    "choose_meter",
    "compute_usage",
    "measure_base_power",
    "reprice",
]
