"""How a relayed file is divided into units. Each is fetched, summed and sent as one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a file, numbered from 1; the last one may be shorter.

    ``size_bytes`` : of the file; ``None`` where only its end shows it, which makes it a unit of its own.
    ``unit_bytes`` : length of a unit. A file that is not longer is one unit.
    """

    size_bytes: int | None
    unit_bytes: int

    @property
    def is_divided(self) -> bool:
        return self.size_bytes is not None and self.size_bytes > self.unit_bytes > 0

    @property
    def count(self) -> int:
        return -(-self.size_bytes // self.unit_bytes) if self.size_bytes is not None and self.is_divided else 1

    def find_unit(self, position: int) -> int:
        """Return the number of the unit that holds the byte at ``position``."""
        return position // self.unit_bytes + 1 if self.is_divided else 1

    def get_first(self, number: int) -> int:
        """Return the position of the first byte of a unit."""
        return (number - 1) * self.unit_bytes if self.is_divided else 0

    def get_range(self, number: int) -> tuple[int, int]:
        """Return the first and the last byte of a unit; the size must be known."""
        assert self.size_bytes is not None
        if not self.is_divided:
            return 0, self.size_bytes - 1
        first = self.get_first(number)
        return first, min(first + self.unit_bytes, self.size_bytes) - 1

    def measure(self, number: int) -> int | None:
        """Return the length of a unit; ``None`` where it is not known."""
        if self.size_bytes is None:
            return None
        first, last = self.get_range(number)
        return last - first + 1
