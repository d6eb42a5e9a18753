"""Convert PostgreSQL's ``numeric`` to numbers of Arrow: the columnar driver passes them as text of a type of its
own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from services.persistence.warehouse.row_sizes import Column

NUMERIC = 1700
MOST_DIGITS = 38
"""Most digits of a decimal that libraries of Arrow and readers of Parquet have in common."""

_HEADER = 4
_SCALE_BITS, _SCALE_SIGN = 0x7FF, 0x400


@dataclass(frozen=True, slots=True)
class Numbers:
    """The types of the ``numeric`` columns of an answer, by their position.

    A column with a declared number of digits becomes a decimal of so many. One without, such as a sum or an average,
    becomes a double: text would be of no use, and no decimal has room for every value.
    """

    schema: pa.Schema
    kinds: dict[int, pa.DataType]

    @classmethod
    def of(cls, columns: Sequence[Column], schema: pa.Schema) -> Self:
        """Return the types for these columns; ``schema`` : the driver's."""
        kinds = {place: _find_type(column.modifier) for place, column in enumerate(columns) if column.type == NUMERIC}
        for place, kind in kinds.items():
            field = schema.field(place)
            schema = schema.set(place, pa.field(field.name, kind, field.nullable))
        return cls(schema, kinds)

    def in_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with numbers in place of their texts.

        Raises
        ------
        pyarrow.ArrowInvalid : a decimal that is none (``NaN``).
        """
        arrays = batch.columns
        for place, kind in self.kinds.items():
            arrays[place] = arrays[place].storage.cast(kind)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _find_type(modifier: int) -> pa.DataType:
    """Return the type for a column's type modifier, which holds precision and scale, or neither (-1)."""
    precision, scale = modifier - _HEADER >> 16, (modifier - _HEADER & _SCALE_BITS ^ _SCALE_SIGN) - _SCALE_SIGN
    if modifier < _HEADER or not 0 <= scale <= precision <= MOST_DIGITS:
        return pa.float64()
    return pa.decimal128(precision, scale)
