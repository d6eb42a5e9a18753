"""Two documents by which a server reports the energy of a transfer to the agent that copies.

The agent names its transfer in a header of every request, but only to a server that has answered
``GET /.tradewind/transfers`` with a `ServerMeter`. After the transfer the agent requests the `ServerEnergyReport`.
While the transfer runs, it requests the same report of the time until then.
"""

from typing import TypeVar
from uuid import UUID

from pydantic import ConfigDict, ValidationError

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind.wire.base import AtLeastOne, Count, NonNegative, Open, Positive

_Document = TypeVar("_Document", bound=Open)


class ServerMeter(Open):
    """The meter that a server uses for transfers."""

    method: EnergyMethod
    quality: EnergyQuality


class ServerEnergyReport(Open):
    """The energy of one transfer at the server's end.

    Attributes
    ----------
    duration_s : metered time from the first request to this report, without pauses of many seconds.
    moved_bytes : bytes of file bodies, sent and received for this transfer.
    total_j : the transfer's part of the host's energy in that time, including the idle part; ``dynamic_j`` and
        ``base_w`` likewise.
    quality : assumed where other transfers or clients took part of the host's energy.
    cpu_s : the transfer's part of the server's CPU time; the CPU model's energy follows from it for any coefficients.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    transfer_id: UUID
    duration_s: Positive
    moved_bytes: Count
    total_j: NonNegative
    dynamic_j: float | None = None
    base_w: NonNegative | None = None
    method: EnergyMethod
    quality: EnergyQuality
    cpu_s: NonNegative
    logical_cpus: AtLeastOne


def parse_meter(body: bytes) -> ServerMeter | None:
    """Return the meter in a server's answer; ``None`` where there is none."""
    return _parse(body, ServerMeter)


def parse_report(body: bytes) -> ServerEnergyReport | None:
    """Return the report in a server's answer; ``None`` where there is none."""
    return _parse(body, ServerEnergyReport)


def _parse(body: bytes, kind: type[_Document]) -> _Document | None:
    try:
        return kind.model_validate_json(body)
    except ValidationError:
        return None
