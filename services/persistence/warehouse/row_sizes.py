"""Statements that refuse a row of too many bytes in the database, before it is sent.

A client cannot: libpq reads a complete row before anybody sees its length, three times over, and one value may have 1
GB. The database knows the length of a text without reading it. Values of other types are written out once more where
they might be long: a numeric of eight bytes may have 150,000 digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from psycopg import sql

TEXTS = frozenset({25, 1042, 1043})
"""text, char(n), varchar, whose octet_length is in their header; numbers of pg_type."""

BYTES = 17
"""bytea: two digits a byte where it is written out."""

BOUNDED = frozenset(
    {16, 18, 19, 20, 21, 23, 26, 28, 29, 650, 700, 701, 774, 790, 829, 869}
    | {1082, 1083, 1114, 1184, 1186, 1266, 2278, 2950, 3220}
)
"""Numbers, times, names, addresses, ids: a few bytes."""

LONGEST_NAME_BYTES = 63
"""PostgreSQL cuts longer names."""

LONGEST_PER_BYTE = 18_750
"""Characters that a byte of a value may stand for: of a numeric with an exponent at its limit, alone or in an array."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer; ``type`` : its number in pg_type; ``modifier`` : its length or digits, else -1."""

    name: str
    type: int
    modifier: int = -1


def make_names_unique(columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns with unique names: JSON would lose one of two, and a Parquet file with both cannot be read."""
    named: list[Column] = []
    taken: set[str] = set()
    for column in columns:
        name, number = column.name, 1
        while name in taken:
            number += 1
            ending = f"_{number}"
            name = column.name.encode()[: LONGEST_NAME_BYTES - len(ending)].decode(errors="ignore") + ending
        taken.add(name)
        named.append(replace(column, name=name))
    return named


def format_names(columns: Sequence[Column]) -> str:
    """Return the column names as an alias lists them."""
    return ", ".join(sql.Identifier(column.name).as_string(None) for column in columns)


def limit_row_sizes(statement: str, columns: Sequence[Column], most_bytes: int) -> str:
    """Return the statement with the same columns, which fails at a row of more than ``most_bytes``."""
    names = [f"c{number}" for number in range(1, len(columns) + 1)]
    long = [(name, column.type) for name, column in zip(names, columns, strict=True) if column.type not in BOUNDED]
    if not long:
        return statement
    # Where no value has more than its share, all together have no more than the limit: the sum is seldom needed,
    # and costs more.
    share = most_bytes // len(long)
    suspect = " OR ".join(_build_excess_condition(name, kind, share) for name, kind in long)
    size = " + ".join(["0::bigint", *(f"coalesce({_format_length(name, kind)}, 0)" for name, kind in long)])
    carrier = long[0][0]
    checked = f"CASE WHEN {suspect} THEN {_build_size_check(size, carrier, most_bytes)} ELSE {carrier} END"
    selected = ", ".join(
        f"{checked if name == carrier else name} AS {sql.Identifier(column.name).as_string(None)}"
        for name, column in zip(names, columns, strict=True)
    )
    return f"SELECT {selected} FROM ({_fence('*', statement, ', '.join(names))}) AS sized"  # noqa: S608 - see row_streams


def limit_line_sizes(statement: str, columns: Sequence[Column], most_bytes: int) -> str:
    """Return the statement's rows as JSON, one column ``line``, which fails at one of more than ``most_bytes``."""
    fenced = _fence("row_to_json(tradewind_row.*) AS line", statement, format_names(columns))
    return f"SELECT {_build_size_check('pg_column_size(line)', 'line', most_bytes)} AS line FROM ({fenced}) AS sized"  # noqa: S608


def _fence(selected: str, statement: str, names: str) -> str:
    """Return a subquery with OFFSET; without it, the planner would evaluate the expressions wherever they are used."""
    return f"SELECT {selected} FROM (\n{statement}\n) AS tradewind_row ({names}) OFFSET 0"  # noqa: S608


def _build_size_check(size: str, value: str, most_bytes: int) -> str:
    # In the selected columns, not in a condition: with a condition, LIMIT would no longer shorten a sort.
    return (
        f"CASE WHEN {size} <= {most_bytes} THEN {value} ELSE warehouse.row_too_large({size}, {most_bytes}, {value}) END"
    )


def _build_excess_condition(name: str, kind: int, share: int) -> str:
    longer = f"{_format_length(name, kind)} > {share}"
    if kind in TEXTS or kind == BYTES:
        return longer
    return f"(pg_column_size({name}) > {share // LONGEST_PER_BYTE} AND {longer})"


def _format_length(name: str, kind: int) -> str:
    if kind in TEXTS:
        return f"octet_length({name})"
    return f"2 * octet_length({name})" if kind == BYTES else f"octet_length({name}::text)"
