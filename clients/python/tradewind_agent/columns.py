"""Records of one kind by columns: a listing of a million files takes some hundred bytes a file, and not a thousand.

A record is made whenever it is read. To read is cheap, to hold all at once is what this avoids.
"""

import math
import re
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar, overload

Record = TypeVar("Record")

BLOCK_RECORDS = 20_000
"""Records of a block that takes no more: smaller ones would leave gaps in memory when they are given back."""

_UNKNOWN = -1

_MD5_TAG = re.compile('"[0-9a-f]{32}"')
_MD5_MARK = b"\xff"
"""Begins no text in UTF-8."""

_SAME_NAME = "/"
"""No name has a slash."""


class FieldColumn(Protocol):
    """The values of one field, in the order of the records."""

    def append(self, value: Any, /) -> None: ...

    def __getitem__(self, at: int, /) -> Any: ...


class TextColumn:
    """Texts; ``None`` is stored as the empty one, and read as ``missing``."""

    def __init__(self, missing: str | None = None) -> None:
        self._missing = missing
        self._bytes = bytearray()
        self._ends = array("I")

    def __len__(self) -> int:
        return len(self._ends)

    def append(self, text: str | None) -> None:
        self._bytes += self._encode(text or "")
        try:
            self._ends.append(len(self._bytes))
        except OverflowError:  # more than 4 GiB of them
            self._ends = array("Q", self._ends)
            self._ends.append(len(self._bytes))

    def __getitem__(self, at: int) -> str | None:
        start = self._ends[at - 1] if at else 0
        return self._decode(self._bytes[start : self._ends[at]]) or self._missing

    def _encode(self, text: str) -> bytes:
        return text.encode("utf-8", "surrogatepass")

    def _decode(self, stored: bytearray) -> str:
        return stored.decode("utf-8", "surrogatepass")


class TagColumn(TextColumn):
    """ETags, or ``None``; the sum in a tag that is an MD5, as most are, takes half as many bytes as its digits."""

    def _encode(self, text: str) -> bytes:
        return _MD5_MARK + bytes.fromhex(text[1:-1]) if _MD5_TAG.fullmatch(text) else super()._encode(text)

    def _decode(self, stored: bytearray) -> str:
        return f'"{stored[1:].hex()}"' if stored.startswith(_MD5_MARK) else super()._decode(stored)


class PathColumn:
    """Paths; what many of them share before their last slash is stored once.

    Parameters
    ----------
    followed : paths that get their values first, and mostly have the same names in their folders.
    """

    def __init__(self, followed: "PathColumn | None" = None) -> None:
        self._followed = followed
        self._folders = SharedColumn()
        self._names = TextColumn("")

    def append(self, path: str) -> None:
        folder, slash, name = path.rpartition("/")
        if self._followed is not None and name == self._followed.get_name(len(self._names)):
            name = _SAME_NAME
        self._folders.append(folder + slash)
        self._names.append(name)

    def get_name(self, at: int) -> str:
        """Return what is behind the last slash."""
        name = self._names[at] or ""
        return self._followed.get_name(at) if self._followed is not None and name == _SAME_NAME else name

    def __getitem__(self, at: int) -> str:
        return f"{self._folders[at]}{self.get_name(at)}"


class NumberColumn:
    """Whole numbers from 0 on, or ``None``."""

    def __init__(self) -> None:
        self._numbers = array("q")

    def append(self, number: int | None) -> None:
        self._numbers.append(_UNKNOWN if number is None else number)

    def __getitem__(self, at: int) -> int | None:
        number = self._numbers[at]
        return None if number == _UNKNOWN else number

    def __setitem__(self, at: int, number: int | None) -> None:
        self._numbers[at] = _UNKNOWN if number is None else number


class TimeColumn:
    """Times, or ``None``; they are read in UTC."""

    def __init__(self) -> None:
        self._times_s = array("d")

    def append(self, at: datetime | None) -> None:
        self._times_s.append(math.nan if at is None else at.timestamp())

    def __getitem__(self, at: int) -> datetime | None:
        time_s = self._times_s[at]
        return None if math.isnan(time_s) else datetime.fromtimestamp(time_s, UTC)


class SharedColumn:
    """Few values, each for many records: it is stored once, in ``values``."""

    def __init__(self) -> None:
        self._places: dict[Hashable, int] = {}
        self.values: list[Any] = []
        self._numbers = array("I")

    def append(self, value: Hashable) -> None:
        place = self._places.setdefault(value, len(self.values))
        if place == len(self.values):
            self.values.append(value)
        self._numbers.append(place)

    def __getitem__(self, at: int) -> Any:
        return self.values[self._numbers[at]]


class RecordColumns(Sequence[Record], Generic[Record]):
    """Records of one class, by columns.

    Parameters
    ----------
    make : makes a record of its fields, which are named as its attributes are.
    columns : a column for each field that has many values.
    shared : the other fields, two at least, which have few values; each combination of them is stored once.
    """

    def __init__(
        self,
        make: Callable[..., Record],
        columns: Mapping[str, FieldColumn],
        shared: Sequence[str],
        records: Iterable[Record] = (),
    ) -> None:
        self._make, self._shared = make, shared
        self._columns = columns
        self._combinations = SharedColumn()
        self._read_fields, self._read_shared = attrgetter(*columns), attrgetter(*shared)
        self._appenders = [column.append for column in columns.values()]
        self._getters = [(name, column.__getitem__) for name, column in columns.items()]
        self._count = 0
        self.extend(records)

    def append(self, record: Record) -> None:
        for append, value in zip(self._appenders, self._read_fields(record), strict=True):
            append(value)
        self._combinations.append(self._read_shared(record))
        self._count += 1

    def extend(self, records: Iterable[Record]) -> None:
        for record in records:
            self.append(record)

    def iterate_field(self, name: str) -> Iterator[Any]:
        """Yield one field of all records, which is quicker than to make each record."""
        if name in self._columns:
            return map(self._columns[name].__getitem__, range(self._count))
        at = self._shared.index(name)
        return (self._combinations[place][at] for place in range(self._count))

    def _read(self, place: int) -> Record:
        fields = dict(zip(self._shared, self._combinations[place], strict=True))
        for name, get in self._getters:
            fields[name] = get(place)
        return self._make(**fields)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Record: ...

    @overload
    def __getitem__(self, at: slice) -> list[Record]: ...

    def __getitem__(self, at: int | slice) -> Record | list[Record]:
        if isinstance(at, slice):
            return [self._read(each) for each in range(*at.indices(self._count))]
        if not -self._count <= at < self._count:
            raise IndexError(at)
        return self._read(at % self._count)

    def __iter__(self) -> Iterator[Record]:
        return map(self._read, range(self._count))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(other) != len(self):
            return False
        return all(one == another for one, another in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        return f"<{self._count} records>"


class RecordBlocks(Sequence[Record]):
    """Records of one class by columns, in blocks that can be handed on and given back one by one.

    Parameters
    ----------
    make_block : makes an empty block.

    Attributes
    ----------
    blocks : in order.
    """

    def __init__(self, make_block: Callable[[], RecordColumns[Record]], records: Iterable[Record] = ()) -> None:
        self._make_block = make_block
        self.blocks: list[RecordColumns[Record]] = []
        self.extend(records)

    def append(self, record: Record) -> None:
        if not self.blocks or len(self.blocks[-1]) >= BLOCK_RECORDS:
            self.blocks.append(self._make_block())
        self.blocks[-1].append(record)

    def extend(self, records: Iterable[Record]) -> None:
        """Add records; large blocks of others become blocks of these, which must not change any more there."""
        if isinstance(records, RecordBlocks) and 4 * len(records) >= BLOCK_RECORDS:
            self.blocks += records.blocks
            return
        for record in records:
            self.append(record)

    def drain(self) -> Iterator[Record]:
        """Yield all records; what is read takes no memory any more."""
        self.blocks.reverse()
        while self.blocks:
            yield from self.blocks.pop()

    def iterate_field(self, name: str) -> Iterator[Any]:
        """Yield one field of all records, which is quicker than to make each record."""
        return chain.from_iterable(block.iterate_field(name) for block in self.blocks)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @overload
    def __getitem__(self, at: int) -> Record: ...

    @overload
    def __getitem__(self, at: slice) -> list[Record]: ...

    def __getitem__(self, at: int | slice) -> Record | list[Record]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        if at < 0:
            at += len(self)
        for block in self.blocks:
            if 0 <= at < len(block):
                return block[at]
            at -= len(block)
        raise IndexError(at)

    def __iter__(self) -> Iterator[Record]:
        return chain.from_iterable(self.blocks)
