"""Placeholder until meters land."""

from tradewind_agent.diagnosis import Finding
from tradewind_agent.moving import HostMeter


def host_meter(profile: object) -> HostMeter | None:
    return None


def examine_meters() -> list[Finding]:
    return []
