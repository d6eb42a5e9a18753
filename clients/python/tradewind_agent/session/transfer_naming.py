"""How a copy names its transfer to the server at the other end: a header of its requests, and addresses to ask at.

Apart from the documents that are asked for there, because the first request of a copy is made before it has loaded
what reads documents.
"""

from uuid import UUID

TRANSFER_HEADER = "Tradewind-Transfer"
TRANSFERS_PATH = "/.tradewind/transfers"
_ENERGY = "/energy"
_ENERGY_SO_FAR = "/energy-so-far"


def energy_path(transfer_id: UUID) -> str:
    """Where a server tells what a transfer took."""
    return f"{TRANSFERS_PATH}/{transfer_id}{_ENERGY}"


def energy_so_far_path(transfer_id: UUID) -> str:
    """Return the address where a server reports what a running transfer has taken until now."""
    return f"{TRANSFERS_PATH}/{transfer_id}{_ENERGY_SO_FAR}"


def parse_energy_so_far_path(path: str) -> UUID | None:
    """Return the running transfer that a path below ``TRANSFERS_PATH`` asks for; see `energy_so_far_path`."""
    if not (path.startswith(f"{TRANSFERS_PATH}/") and path.endswith(_ENERGY_SO_FAR)):
        return None
    return parse_transfer_id(path.removeprefix(f"{TRANSFERS_PATH}/").removesuffix(_ENERGY_SO_FAR))


def parse_energy_path(path: str) -> UUID | None:
    """The transfer that a path below ``TRANSFERS_PATH`` asks for; the inverse of `energy_path`."""
    return parse_transfer_id(path.removeprefix(f"{TRANSFERS_PATH}/").removesuffix(_ENERGY)) if _asks(path) else None


def parse_transfer_id(text: str) -> UUID | None:
    """An id as `TRANSFER_HEADER` carries it, which has one spelling; ``None`` for anything else."""
    try:
        transfer_id = UUID(text)
    except ValueError:
        return None
    return transfer_id if str(transfer_id) == text else None


def _asks(path: str) -> bool:
    return path.startswith(f"{TRANSFERS_PATH}/") and path.endswith(_ENERGY)
