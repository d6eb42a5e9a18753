"""Who issues statements: the name and the address of the provider as statements have them."""

from dataclasses import dataclass

from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue
from tradewind.names import check_name

MOST_LINES = 8
LONGEST_LINE = 100


@dataclass(frozen=True, slots=True)
class Issuer:
    """A provider as its statements name it. ``address`` : lines under its name, such as street, city and tax number."""

    name: str
    address: tuple[str, ...] = ()


def find_issuer(uow: UnitOfWork) -> Issuer:
    """Return who issues statements; until a provider says so, the tenant by its name."""
    return uow.tenants.find_issuer() or Issuer(uow.tenants.get_name())


def set_issuer(name: str, address: str, *, uow: UnitOfWork) -> Issuer:
    """Set who issues statements, from now on and on statements of earlier months.

    Parameters
    ----------
    address : its lines; empty ones are left out.

    Raises
    ------
    InvalidValue : nothing of the name is seen, or a text is too long or has characters that are not seen.
    """
    lines = [line for line in address.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        raise InvalidValue("address", f"has {len(lines)} lines; there may be {MOST_LINES}")
    issuer = Issuer(check_name(name), tuple(check_name(line, field="address", longest=LONGEST_LINE) for line in lines))
    before = find_issuer(uow)
    if issuer != before:
        uow.tenants.set_issuer(issuer)
        uow.audit.note("statements.issuer_set", issuer.name, address="\n".join(issuer.address), before=before.name)
        uow.commit()
    return issuer
