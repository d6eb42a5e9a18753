"""Places of a process for what takes long: a tenant may have several, but cannot have all."""

from collections import Counter
from uuid import UUID

from tradewind.errors import Unavailable


class TenantSlots:
    """So many at once of a tenant, and in all; half of all are reserved for tenants that have none.

    So what a few do for long leaves the others one each.

    Parameters
    ----------
    what : is counted, in the plural, for messages.
    """

    def __init__(self, what: str, *, at_once: int, in_all: int) -> None:
        self._what, self._at_once, self._in_all = what, at_once, in_all
        self._taken: Counter[UUID] = Counter()

    def take(self, tenant_id: UUID) -> None:
        """Take a slot, which must be released.

        Raises
        ------
        Unavailable : the tenant has its slots already, or too many others hold a slot.
        """
        own, taken = self._taken[tenant_id], self._taken.total()
        if own >= self._at_once:
            raise Unavailable(f"{own} {self._what} are running already; try again")
        if taken >= (self._in_all // 2 if own else self._in_all):
            raise Unavailable(f"too many {self._what} are running already, of others too; try again")
        self._taken[tenant_id] += 1

    def give_back(self, tenant_id: UUID) -> None:
        """Release a slot."""
        self._taken[tenant_id] -= 1
        if not self._taken[tenant_id]:
            del self._taken[tenant_id]
