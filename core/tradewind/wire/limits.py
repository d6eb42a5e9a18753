"""Caps: of a request or a device, of all live transfers (``/v1/limits``), and those that agents have learned."""

from typing import Literal, Self

from pydantic import model_validator

from tradewind.errors import InvalidValue
from tradewind.parameters import Caps
from tradewind.wire.base import AtLeastOne, Bandwidth, Instant, Name, Positive, Small, Strict


class WireCaps(Strict):
    """Highest permitted values of settings."""

    concurrency: Small | None = None
    parallelism: Small | None = None
    pipelining: Small | None = None
    streams: AtLeastOne | None = None
    cores: Small | None = None
    frequency_hz: Positive | None = None

    def to_caps(self) -> Caps:
        return Caps(**{name: getattr(self, name) for name in WireCaps.model_fields})

    @classmethod
    def from_caps(cls, caps: Caps) -> Self:
        return cls(**{name: getattr(caps, name) for name in WireCaps.model_fields})


class WireLimits(WireCaps):
    """Caps of this one request, on top of those of its device, of endpoints, link and tenant.

    ``throughput_bps`` : rate that the transfer keeps to, because its user limits it.
    """

    throughput_bps: Bandwidth | None = None


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
