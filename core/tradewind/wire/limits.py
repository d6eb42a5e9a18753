"""``GET`` and ``PUT /v1/limits``: caps over all live transfers of a tenant, an endpoint or a link."""

from typing import Literal, Self

from pydantic import model_validator

from tradewind.errors import InvalidValue
from tradewind.wire.base import Name, Small, Strict


class WireLimit(Strict):
    """One limit. Both caps absent removes it.

    ``scope`` tenant names neither end, endpoint names ``endpoint``, link ``source`` and ``destination``.
    """

    scope: Literal["tenant", "endpoint", "link"]
    endpoint: Name | None = None
    source: Name | None = None
    destination: Name | None = None
    concurrency: Small | None = None
    streams: Small | None = None

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        needed = {"tenant": (), "endpoint": ("endpoint",), "link": ("source", "destination")}[self.scope]
        for field in ("endpoint", "source", "destination"):
            if (getattr(self, field) is None) == (field in needed):
                verb = "is needed" if field in needed else "does not belong"
                raise InvalidValue(field, f"{verb} in a limit of scope {self.scope}")
        return self
