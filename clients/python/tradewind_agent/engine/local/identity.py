"""Which version of a remote file an answer carries, and whether bytes of two answers may stand in one file."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol, Self

from tradewind_agent.engine.http.retry import parse_http_date

_ONE_CLOCK = timedelta(seconds=1)
"""Between `Last-Modified` and a later `Date`: whatever changes after that gets another time (RFC 9110 §8.8.2.2)."""

_TWO_CLOCKS = timedelta(seconds=60)
"""The same, where the server sends no `Date` and this host's clock stands in for it: the two may differ."""

_SET_BY_HAND = timedelta(days=1)
"""A time of modification that lies so far after the present is none of a clock."""

_EMPTY_TAG = '""'
"""A tag that names no version: programs send it with every answer."""

_NO_CLOCK_S = 2 * 86_400.0
"""Times of the first days of 1970 in any zone say that there is none: stores of packages, images and archives that are
to be reproducible give all versions the same one."""


def states_time(modified_at_s: float) -> bool:
    """Return whether a time of modification, since 1970, says anything of the version of a file."""
    return modified_at_s >= _NO_CLOCK_S or modified_at_s <= -_NO_CLOCK_S


class HeaderFields(Protocol):
    """Header fields of an answer, found by names in lower case."""

    def get(self, name: str, /) -> str | None: ...


class FileIdentity(NamedTuple):
    """The identity of a version of a remote file; ``None`` where the server does not say.

    ``has_strong_time`` : no other version can have the same ``last_modified``.
    """

    size_bytes: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    has_strong_time: bool = False

    @classmethod
    def from_answer(cls, fields: HeaderFields, size_bytes: int | None, *, now: datetime | None = None) -> Self:
        """Read the version from the header of an answer that arrived ``now``."""
        last_modified, now = fields.get("last-modified") or None, now or datetime.now(UTC)
        etag = fields.get("etag") or None
        modified_at = parse_http_date(last_modified or "")
        if modified_at is not None:
            is_tag_of_time = _is_tag_of_time(etag, modified_at, size_bytes)
            if not states_time(modified_at.timestamp()):
                last_modified, etag = None, None if is_tag_of_time else etag
            elif is_tag_of_time and modified_at - (parse_http_date(fields.get("date") or "") or now) > _SET_BY_HAND:
                last_modified = None  # it says nothing of when the file changed; the tag is all that there is
        return cls(
            size_bytes,
            None if etag == _EMPTY_TAG else etag,
            last_modified,
            _is_strong_time(last_modified, fields.get("date"), now),
        )

    def contradicts(self, other: Self) -> bool:
        """Return whether both say something about the same thing and differ. An ETag outweighs the time."""
        if self.size_bytes is not None and other.size_bytes is not None and self.size_bytes != other.size_bytes:
            return True
        if self.etag is not None and other.etag is not None:
            return self.etag != other.etag
        return None not in (self.last_modified, other.last_modified) and self.last_modified != other.last_modified

    def fill_from(self, other: Self) -> "FileIdentity":
        """Return the same with its gaps filled from ``other``."""
        last_modified = self if self.last_modified is not None else other
        return FileIdentity(
            self.size_bytes if self.size_bytes is not None else other.size_bytes,
            self.etag or other.etag,
            last_modified.last_modified,
            last_modified.has_strong_time,
        )

    @property
    def validator(self) -> str | None:
        """Return what two answers must share before their bytes are put together; ``None`` forbids it.

        It is a strong ETag or, of a file without any ETag, a time of modification that is strong. The value goes into
        If-Range (RFC 9110 §13.1.5); quotation marks keep the two kinds apart.
        """
        if self.etag is None:
            return self.last_modified if self.has_strong_time else None
        is_weak = self.etag[:2].upper() == "W/" or (self._has_tag_of_time and not self.has_strong_time)
        return None if is_weak else self.etag

    @property
    def _has_tag_of_time(self) -> bool:
        """Return whether the tag is made of time and size alone, as nginx makes it: it says no more than they do."""
        return _is_tag_of_time(self.etag, parse_http_date(self.last_modified or ""), self.size_bytes)


def _is_tag_of_time(etag: str | None, modified_at: datetime | None, size_bytes: int | None) -> bool:
    if modified_at is None or size_bytes is None:
        return False
    return etag == f'"{int(modified_at.timestamp()):x}-{size_bytes:x}"'


def _is_strong_time(last_modified: str | None, date: str | None, now: datetime) -> bool:
    modified_at = parse_http_date(last_modified or "")
    if modified_at is None:
        return False
    sent_at = parse_http_date(date or "")
    if sent_at is None:
        return now - modified_at >= _TWO_CLOCKS
    return sent_at - modified_at >= _ONE_CLOCK
