"""How a copy names its transfer to the server at the other end, and the resources that suffice there: headers of its
requests, and paths of reports.

The documents themselves are in `server_energy`: a copy sends its first request before it has loaded their parser.
"""

from uuid import UUID

from tradewind.errors import InvalidValue
from tradewind_agent.resources.limits import NO_LIMITS, Limits

TRANSFER_HEADER = "Tradewind-Transfer"
RESOURCES_HEADER = "Tradewind-Resources"
TRANSFERS_PATH = "/.tradewind/transfers"
ACCEPTED_RESOURCES_PATH = f"{TRANSFERS_PATH}/resources"
"""Where a server lists the resources that clients may limit, as ``{"accepted": ["cores"]}``."""

_ENERGY = "/energy"
_ENERGY_SO_FAR = "/energy-so-far"


def format_energy_path(transfer_id: UUID) -> str:
    """Return the path where a server reports the energy of a transfer."""
    return f"{TRANSFERS_PATH}/{transfer_id}{_ENERGY}"


def format_energy_so_far_path(transfer_id: UUID) -> str:
    """Return the path where a server reports the energy that a running transfer has taken until now."""
    return f"{TRANSFERS_PATH}/{transfer_id}{_ENERGY_SO_FAR}"


def parse_energy_so_far_path(path: str) -> UUID | None:
    """Return the transfer that an `format_energy_so_far_path` names; ``None`` for any other path."""
    if not (path.startswith(f"{TRANSFERS_PATH}/") and path.endswith(_ENERGY_SO_FAR)):
        return None
    return parse_transfer_id(path.removeprefix(f"{TRANSFERS_PATH}/").removesuffix(_ENERGY_SO_FAR))


def parse_energy_path(path: str) -> UUID | None:
    """Return the transfer that an `format_energy_path` names; ``None`` for any other path."""
    if not (path.startswith(f"{TRANSFERS_PATH}/") and path.endswith(_ENERGY)):
        return None
    return parse_transfer_id(path.removeprefix(f"{TRANSFERS_PATH}/").removesuffix(_ENERGY))


def parse_transfer_id(text: str) -> UUID | None:
    """Return the id that a `TRANSFER_HEADER` carries, in its one spelling; ``None`` for anything else."""
    try:
        transfer_id = UUID(text)
    except ValueError:
        return None
    return transfer_id if str(transfer_id) == text else None


def format_resources(limits: Limits) -> str:
    """Return limits as a `RESOURCES_HEADER` carries them, such as ``cores=2, frequency_hz=1800000000``."""
    return ", ".join(f"{name}={value:.12g}" for name, value in limits.select_known().items())


def parse_resources(text: str) -> Limits:
    """Return the limits of a `RESOURCES_HEADER`; none where any of it cannot be read."""
    try:
        pairs = [word.strip().partition("=") for word in text.split(",")]
        limits = Limits(**{name: float(value) for name, _, value in pairs})  # type: ignore[arg-type]  # other names raise TypeError
    except (TypeError, ValueError, InvalidValue):
        return NO_LIMITS
    return NO_LIMITS if limits.cores is not None and limits.cores < 1 else limits
