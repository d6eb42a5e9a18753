"""What the agent asks the service for, as values of this host; the wire models load when it is sent."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tradewind.dataset import SizeBin
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import Path
from tradewind.sla.kinds import Sla

if TYPE_CHECKING:
    from tradewind.wire.limits import WireLimits
    from tradewind.wire.recommendations import RecommendRequest

_PLAIN_NAME = re.compile(r"[!-~][ -~]{0,199}")
"""Names that the wire takes for certain; it takes others, too, and its model then judges them."""

_MOST_BYTES = 2**62
_HIGHEST_SETTING = 32767
_RATES_BPS = (1.0, 1e16)
_TARGETS = (1e-9, 1e18)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """The transfer for which parameters are wanted.

    ``bins`` : sizes of the files, at least one file.
    ``load`` : share of the path that other traffic uses, 0..1; ``None`` if unknown.
    ``caps``, ``rate_limit_bps`` : what the user permits at most.
    ``labels`` : what the transfer belongs to, such as a project.
    ``adjustable`` : resources of this host that may be changed while it runs, of `tuning.resources.ADJUSTABLE`.
    """

    source: str
    destination: str
    mover: str
    bins: tuple[SizeBin, ...]
    sla: Sla
    path: Path
    network: str | None = None
    load: float | None = None
    caps: Caps = NO_CAPS
    rate_limit_bps: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    adjustable: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that a service could read the request, also where there is none: records have the same values.

        Raises
        ------
        InvalidValue : a value that no request can hold, such as a name of a thousand characters.
        """
        if not self._is_plain():
            _check_by_model(self)

    def _is_plain(self) -> bool:
        """Return whether every value is certain to be taken, so that no model has to be loaded to judge it."""
        names = [self.source, self.destination, self.mover, *([] if self.network is None else [self.network])]
        settings = [value for value in (*asdict(self.caps).values(), self.load) if value is not None]
        return (
            not self.labels
            and all(_PLAIN_NAME.fullmatch(name) for name in names)
            and all(0 <= value <= _HIGHEST_SETTING for value in settings)
            and (self.load is None or self.load <= 1)
            and _is_within(self.rate_limit_bps, _RATES_BPS)
            and _is_within(self.sla.target, _TARGETS)
            and sum(each.total_bytes for each in self.bins) <= _MOST_BYTES
        )

    def to_wire(self) -> "RecommendRequest":
        """Return the request as the service reads it.

        Raises
        ------
        pydantic.ValidationError : a value that no request can hold.
        """
        from tradewind.wire.recommendations import (  # noqa: PLC0415 -- a copy without a service does without
            RecommendRequest,
            WireSizeBin,
            WireSla,
            WireWorkload,
        )
        from tradewind.wire.records import WirePath  # noqa: PLC0415

        file_count = sum(size_bin.file_count for size_bin in self.bins)
        total_bytes = sum(size_bin.total_bytes for size_bin in self.bins)
        known: dict[str, Any] = {"adjustable_resources": self.adjustable} if self.adjustable else {}
        return RecommendRequest(
            source=self.source,
            destination=self.destination,
            mover=self.mover,
            network=self.network,
            dataset=WireWorkload(
                file_count=file_count,
                total_bytes=total_bytes,
                mean_file_bytes=total_bytes / file_count,
                size_histogram=tuple(WireSizeBin(**size_bin._asdict()) for size_bin in self.bins),
            ),
            sla=WireSla.from_sla(self.sla),
            path=WirePath(**asdict(self.path)),
            load=self.load,
            limits=self._build_limits(),
            labels=dict(self.labels) or None,
            **known,
        )

    def _build_limits(self) -> "WireLimits | None":
        from tradewind.wire.limits import WireLimits  # noqa: PLC0415

        limits = WireLimits(**asdict(self.caps), throughput_bps=self.rate_limit_bps)
        return None if limits == WireLimits() else limits


def _is_within(value: float | None, bounds: tuple[float, float]) -> bool:
    return value is None or bounds[0] <= value <= bounds[1]


def _check_by_model(request: PlanRequest) -> None:
    from pydantic import ValidationError  # noqa: PLC0415

    from tradewind.wire.base import describe_validation_error  # noqa: PLC0415

    try:
        request.to_wire()
    except ValidationError as invalid:
        raise describe_validation_error(invalid.errors(include_url=False, include_context=False)[0]) from None
