"""Lists of pages: filtered, searched, sorted and cut into pages, all of it by the address.

An address that cannot be read, such as one with a typing error, gives an empty list with a sentence that says what is
wrong, and the form holds what was typed.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import Request
from pydantic import BeforeValidator, Field, ValidationError

from services.admin.formatting.field_labels import format_refusal
from tradewind.errors import InvalidValue
from tradewind.wire.base import BIGINT_MAX, MAX_NAME_LENGTH, Strict, describe_validation_error

ROWS_A_PAGE = 50
LAST_PAGE = 1_000_000

Empty = BeforeValidator(lambda sent: sent or None)
"""A field of a form that nobody has filled in."""

Line = Annotated[str, Field(max_length=MAX_NAME_LENGTH, pattern=r"^[^\x00-\x1f]*$")]

Row = TypeVar("Row")
FiltersT = TypeVar("FiltersT", bound=Strict)


class ListFilters(Strict):
    """The filters that every list in memory has.

    ``q`` : text that a row must contain. ``sort`` : the name of a column, with a minus for the highest first.
    """

    q: Annotated[Line | None, Empty] = None
    sort: Annotated[Line | None, Empty] = None
    page: Annotated[int, Field(ge=1, le=LAST_PAGE)] = 1


class OlderThan(Strict):
    """The filter of a list by the number of its rows, the newest first: the last row of the page before."""

    before: Annotated[int, Field(ge=1, le=BIGINT_MAX)] | None = None


class OlderThanId(Strict):
    """The filter of a list by the ids of its rows, the newest first: the last row of the page before."""

    before: Annotated[UUID | None, Empty] = None


@dataclass(frozen=True, slots=True)
class Filters(Generic[FiltersT]):
    """Filters as an address has them.

    ``values`` : those of a list without filters where ``problem`` says what is wrong with them. ``typed`` : as they
    were typed.
    """

    values: FiltersT
    typed: Mapping[str, str]
    problem: str = ""

    def build_address(self, **changed: object) -> str:
        """Return the address of the same list with changed filters; one that is empty goes."""
        return change_query(self.typed, **changed)


@dataclass(frozen=True, slots=True)
class FiltersOf(Generic[FiltersT]):
    """A dependency that reads the filters of a list from the address."""

    kind: type[FiltersT]

    async def __call__(self, request: Request) -> Filters[FiltersT]:
        return self.read(request.url.query)

    def read(self, query: str) -> Filters[FiltersT]:
        """Return the filters of the query of an address."""
        typed = dict(parse_qsl(query, keep_blank_values=True))
        try:
            return Filters(self.kind.model_validate(typed), typed)
        except ValidationError as wrong:
            return Filters(self.kind(), typed, _explain(wrong))
        except InvalidValue as wrong:
            return Filters(self.kind(), typed, _to_sentence(format_refusal(wrong)))


def _explain(wrong: ValidationError) -> str:
    (first, *_) = wrong.errors()
    if first["type"] == "extra_forbidden":
        return f"There is no filter {str(first['loc'][0])[:MAX_NAME_LENGTH]} in this list."
    return _to_sentence(format_refusal(describe_validation_error(first)))


def _to_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def change_query(query: Mapping[str, str], **changed: object) -> str:
    """Return the query of an address with changed values, for a link on the same page; empty values go."""
    values = {name: value for name, value in {**query, **changed}.items() if value not in (None, "")}
    return f"?{urlencode(values)}"


@dataclass(frozen=True, slots=True)
class ListColumn(Generic[Row]):
    """A column of a list in memory.

    ``key`` : what its rows are sorted by; a row without a value comes last. ``None`` : they are not sorted by it.
    """

    label: str
    key: Callable[[Row], Any] | None = None
    is_number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownList(Generic[Row]):
    """One page of a list.

    ``total`` : rows without any filter; ``matching`` : with them. ``sort`` : the name of the column that the rows are
    sorted by, empty for the order of the list itself.
    """

    rows: Sequence[Row]
    total: int
    matching: int
    page: int
    columns: Mapping[str, ListColumn[Row]]
    sort: str
    is_descending: bool
    filters: Filters[Any]

    @property
    def pages(self) -> int:
        return max(1, math.ceil(self.matching / ROWS_A_PAGE))

    @property
    def first(self) -> int:
        """The number of the first row that is shown, from 1."""
        return (self.page - 1) * ROWS_A_PAGE + 1

    @property
    def is_filtered(self) -> bool:
        return bool(self.filters.typed.keys() - {"sort", "page"})

    def build_address(self, **changed: object) -> str:
        return self.filters.build_address(**changed)

    def build_sort_address(self, name: str) -> str:
        """Return the address of the list sorted by a column: again the other way round."""
        falls = (self.sort == name and not self.is_descending) or (self.sort != name and self.columns[name].is_number)
        return self.filters.build_address(sort=f"-{name}" if falls else name, page=None)

    def find_order(self, name: str) -> str:
        """Return the value of ``aria-sort`` of a column."""
        if self.sort != name:
            return "none"
        return "descending" if self.is_descending else "ascending"


def show_list(
    rows: Sequence[Row],
    columns: Mapping[str, ListColumn[Row]],
    filters: Filters[Any],
    *,
    text_of: Callable[[Row], Iterable[str | None]],
    matches: Callable[[Row], bool] = lambda _: True,
) -> ShownList[Row]:
    """Return the page of a list in memory that its filters choose.

    Parameters
    ----------
    text_of : the texts of a row that are searched; each word of the search must be in one of them.
    matches : whether a row passes the list's own filters.
    """
    values: ListFilters = filters.values
    found = find_rows(rows, filters, text_of=text_of, matches=matches)
    name, is_descending = (values.sort or "").removeprefix("-"), (values.sort or "").startswith("-")
    column = columns.get(name)
    if column is None or column.key is None:
        name = ""
    else:
        found = sort_rows(found, column.key, is_descending=is_descending)
    page = min(values.page, max(1, math.ceil(len(found) / ROWS_A_PAGE)))
    return ShownList(
        rows=found[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE],
        total=len(rows),
        matching=len(found),
        page=page,
        columns=columns,
        sort=name,
        is_descending=is_descending,
        filters=filters,
    )


def find_rows(
    rows: Sequence[Row],
    filters: Filters[Any],
    *,
    text_of: Callable[[Row], Iterable[str | None]],
    matches: Callable[[Row], bool] = lambda _: True,
) -> list[Row]:
    """Return all rows of a list in memory that its filters choose; none where they cannot be read."""
    search = filters.values.q
    return [] if filters.problem else [row for row in rows if matches(row) and _contains(text_of(row), search)]


def _contains(texts: Iterable[str | None], search: str | None) -> bool:
    if not search:
        return True
    folded = [text.casefold() for text in texts if text]
    return all(any(word in text for text in folded) for word in search.casefold().split())


def sort_rows(rows: Iterable[Row], key: Callable[[Row], Any], *, is_descending: bool) -> list[Row]:
    """Return rows by a value; those without one come last in both directions."""
    known: list[Row] = []
    unknown: list[Row] = []
    for row in rows:
        (unknown if key(row) is None else known).append(row)
    return [*sorted(known, key=partial(_fold, key), reverse=is_descending), *unknown]


def _fold(key: Callable[[Row], Any], row: Row) -> Any:
    value = key(row)
    return value.casefold() if isinstance(value, str) else value
