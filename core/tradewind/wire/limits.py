"""``/v1/limits``: caps of all live transfers of a tenant, an endpoint or a link, and caps that agents have learned."""

from typing import Literal, Self

from pydantic import model_validator

from tradewind.errors import InvalidValue
from tradewind.wire.base import Instant, Name, Small, Strict


class WireLimit(Strict):
    """One limit. Both caps absent removes it.

    ``scope`` tenant names neither end, endpoint names ``endpoint``, link ``source`` and ``destination``.
    ``learned_at`` : of a cap that agents have learned, when the server refused more last; of no cap that is set.
    """

    scope: Literal["tenant", "endpoint", "link"]
    endpoint: Name | None = None
    source: Name | None = None
    destination: Name | None = None
    concurrency: Small | None = None
    streams: Small | None = None
    learned_at: Instant | None = None

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        needed = {"tenant": (), "endpoint": ("endpoint",), "link": ("source", "destination")}[self.scope]
        for field in ("endpoint", "source", "destination"):
            if (getattr(self, field) is None) == (field in needed):
                verb = "is needed" if field in needed else "does not belong"
                raise InvalidValue(field, f"{verb} in a limit of scope {self.scope}")
        return self


class LearnedLimit(Strict):
    """The connections that the server of ``endpoint`` permitted at once, when it refused more at ``refused_at``."""

    endpoint: Name
    streams: Small
    refused_at: Instant
