"""Prices of a book as a CSV file: written for a spreadsheet, and read back with what was changed there.

A row is found by its ``tier_id`` alone; the other columns say which tier that is. A row without any price removes that
of its tier, and a tier that the file does not have keeps its price.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from io import StringIO
from uuid import UUID

from services.application.billing.price_books import PriceBook
from services.application.models.sla_tiers import LinkTier, format_path
from services.application.shared.formulas import mark_formula
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue
from tradewind.sla.pricing import HIGHEST_SHARES, PriceModel
from tradewind.units import format_count

PRICE_COLUMNS = ("base", "per_gb", "per_kwh", "margin_percent")
CREDIT_COLUMN = "credit_percent"
"""A file without this column credits nothing."""
COLUMNS = (
    *("tier_id", "link", "labels", "cluster", "tier", "kind", "confidence", "energy_basis"),
    *PRICE_COLUMNS,
    CREDIT_COLUMN,
    "priced_by",
)
MOST_LISTED = 5
"""Wrong rows that a refusal lists; the others are counted."""

LONGEST_SHOWN = 40

HIGHEST_EXPONENT = 30
"""Of ten, of a number in a file, in both directions: what lies beyond is no price, and overflows."""


def write_prices(book: PriceBook, uow: UnitOfWork) -> str:
    """Return every tier of the current release with its price in a book, as CSV with a header."""
    release = uow.releases.find_current()
    tiers = [] if release is None else uow.sla_tiers.list_page(release, limit=None)
    paths = {link.id: format_path(link.key) for link in uow.links.list_all()}
    labels, by_rule = uow.links.list_labels(), uow.price_rules.list_priced(book.id)
    lines = StringIO()
    writer = csv.writer(lines)
    writer.writerow(COLUMNS)
    for tier in tiers:
        price = book.prices.get(tier.tier.id)
        priced_by = "" if price is None else "rule" if tier.tier.id in by_rule else "tier"
        link = (paths[tier.link_id], " ".join(labels.get(tier.link_id, ())))
        writer.writerow([*map(mark_formula, _describe_tier(tier, *link)), *_format_parts(price), priced_by])
    return lines.getvalue()


def _describe_tier(tier: LinkTier, path: str, labels: str) -> Sequence[str]:
    partition = tier.partition
    names = (str(tier.tier.id), path, labels, tier.cluster, tier.name)
    return (*names, partition.kind.value, f"{partition.confidence:g}", partition.energy_basis.value)


def _format_parts(price: PriceModel | None) -> Sequence[str]:
    if price is None:
        return [""] * (len(PRICE_COLUMNS) + 1)
    shares = (price.margin.scaleb(2), price.credit.scaleb(2))
    return [f"{each:f}" for each in (price.base, price.per_gb, price.per_kwh, *shares)]


def read_prices(text: str) -> Mapping[UUID, PriceModel | None]:
    """Return the prices of a file by tier; ``None`` where the row has none.

    Columns may be in any order, separated by commas, semicolons or tabs. Where they are not separated by commas, a
    number may have a decimal comma.

    Raises
    ------
    InvalidValue : the first wrong rows, numbered as in the file, with the column and the reason.
    """
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    if not any(line.strip() for line in lines):
        raise InvalidValue("prices", "are empty; the file needs a header and a row for each tier")
    separator = max(",;\t", key=lines[0].count)
    rows = csv.reader(lines, delimiter=separator, strict=True)
    try:
        places = _find_columns([name.strip().lower() for name in next(rows)])
        found: dict[UUID, PriceModel | None] = {}
        problems: list[InvalidValue] = []
        for line, row in _number(rows):
            try:
                tier_id, price = _read_row(row, places, has_decimal_comma=separator != ",")
            except InvalidValue as wrong:
                problems.append(InvalidValue(f"row {line}, {wrong.field}", wrong.reason))
                continue
            if tier_id in found:
                problems.append(InvalidValue(f"row {line}, tier_id", "is in an earlier row too"))
            found[tier_id] = price
    except csv.Error as broken:
        raise InvalidValue("prices", f"are no CSV: row {rows.line_num}: {broken}") from None
    if problems:
        raise _join_problems(problems)
    if not found:
        raise InvalidValue("prices", "have a header and no rows")
    return found


def _number(rows: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not empty, each with the number of its line in the file, as spreadsheets count them."""
    for line, row in enumerate(rows, start=2):
        if any(cell.strip() for cell in row):
            yield line, row


def _find_columns(header: Sequence[str]) -> Mapping[str, int]:
    needed = ("tier_id", *PRICE_COLUMNS)
    if missing := [name for name in needed if header.count(name) != 1]:
        raise InvalidValue("row 1", f"must have each of the columns {', '.join(needed)} once; see {', '.join(missing)}")
    return {name: header.index(name) for name in (*needed, CREDIT_COLUMN) if name in header}


def _read_row(
    row: Sequence[str], places: Mapping[str, int], *, has_decimal_comma: bool
) -> tuple[UUID, PriceModel | None]:
    cells = {name: row[place].strip() if place < len(row) else "" for name, place in places.items()}
    try:
        tier_id = UUID(cells["tier_id"])
    except ValueError:
        raise InvalidValue("tier_id", f"{cells['tier_id'][:LONGEST_SHOWN]!r} is none") from None
    if not any(cells[name] for name in PRICE_COLUMNS):
        return tier_id, None
    numbers = {name: _read_number(name, cells[name], has_decimal_comma=has_decimal_comma) for name in PRICE_COLUMNS}
    credit = cells.get(CREDIT_COLUMN) or "0"
    numbers[CREDIT_COLUMN] = _read_number(CREDIT_COLUMN, credit, has_decimal_comma=has_decimal_comma)
    shares = {name: numbers.pop(f"{name}_percent").scaleb(-2) for name in ("margin", "credit")}
    try:
        return tier_id, PriceModel(**numbers, **shares)
    except InvalidValue as wrong:
        if wrong.field not in shares:
            raise
        typed, highest = shares[wrong.field].scaleb(2), 100 * HIGHEST_SHARES[wrong.field]
        reason = f"is {typed:f}; it must be 0 to {highest:f}, with four decimals at most"
        raise InvalidValue(f"{wrong.field}_percent", reason) from None


def _read_number(name: str, text: str, *, has_decimal_comma: bool) -> Decimal:
    if not text:
        raise InvalidValue(name, "is empty; write 0 where nothing is charged")
    plain = text.replace(",", ".") if has_decimal_comma else text
    try:
        number = Decimal(plain) if len(plain) <= LONGEST_SHOWN and "_" not in plain else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise InvalidValue(name, f"{text[:LONGEST_SHOWN]!r} is not a number")
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > HIGHEST_EXPONENT or abs(number.adjusted()) > HIGHEST_EXPONENT:
        raise InvalidValue(name, f"{text[:LONGEST_SHOWN]!r} is out of range")
    return number


def _join_problems(problems: Sequence[InvalidValue]) -> InvalidValue:
    """Return one refusal that names the first wrong rows and counts the others."""
    first, *others = problems
    listed = [f"{each.field}: {each.reason}" for each in others[: MOST_LISTED - 1]]
    more = len(problems) - MOST_LISTED
    rest = [f"{format_count(more, 'more row')} with errors"] if more > 0 else []
    return InvalidValue(first.field, "; ".join([first.reason, *listed, *rest]))
