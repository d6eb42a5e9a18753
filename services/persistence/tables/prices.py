"""Price books and the prices of tiers in them."""

from sqlalchemy import Column, Index, Integer, Numeric, Table, Uuid, text

from services.persistence.tables.metadata import METADATA, instant, label, own_id, reference, tenant_column


def _price(name: str) -> Column[object]:
    """Main units of the book's currency, exact."""
    return Column(name, Numeric(16, 6), nullable=False)


# A draft until published_at is set; from then on no row of a book changes. One ends where the next one begins.
price_books = Table(
    "price_books",
    METADATA,
    own_id(),
    tenant_column(),
    label("name"),
    label("currency"),
    label("energy_basis"),
    Column("version", Integer, nullable=False, server_default=text("1")),
    instant("created_at"),
    instant("published_at", nullable=True),
    instant("effective_from", nullable=True),
    Index("price_books_effective_key", "tenant_id", "effective_from", unique=True),
)

prices = Table(
    "prices",
    METADATA,
    tenant_column(),
    reference("book_id", "price_books", primary_key=True),
    Column("tier_id", Uuid, primary_key=True),
    _price("base"),
    _price("per_gb"),
    _price("per_kwh"),
    _price("margin"),
)
