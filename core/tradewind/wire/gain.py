"""The report of gains: what tuning would have gained on each link of the logged history."""

from datetime import date, datetime
from uuid import UUID

from tradewind.wire.base import Open
from tradewind.wire.recommendations import WireInterval
from tradewind.wire.records import WireParameters


class LoggedSetting(Open):
    """A setting of logged transfers, its typical rate, and its share of the time of the data sets."""

    parameters: WireParameters
    rows: int
    rate_bps: float
    share_of_time: float


class GainBackTest(Open):
    """Predicted and observed gain on later rows that the model had not seen; ``within`` : in the 90 % interval."""

    predicted: WireInterval
    observed: float
    rows: int
    within: bool


class DataSetGain(Open):
    """The gain for one kind of data set of a link.

    ``recommended``, ``rate_bps``, ``gain`` and ``saved_share`` are absent where no setting is certified. Intervals are
    central and hold 90 %.
    """

    mean_file_bytes: float
    file_count: float
    rows: int
    used: tuple[LoggedSetting, ...]
    recommended: WireParameters | None = None
    rate_bps: WireInterval | None = None
    gain: WireInterval | None = None
    saved_share: WireInterval | None = None
    energy_saved_share: float | None = None
    back_test: GainBackTest | None = None
    advice: tuple[str, ...] = ()


class LinkGain(Open):
    """The gain of one link; hours are those of all its transfers added up, savings are per month.

    ``waiting_logs`` : logs of a link without a model that the next release will look at.
    """

    id: UUID
    source: str
    destination: str
    network: str | None = None
    mover: str
    transfers: int
    bytes_moved: int
    duration_s: float
    first_day: date
    last_day: date
    hours_a_month: float
    saved_hours_a_month: WireInterval | None = None
    saved_j_a_month: float | None = None
    data_sets: tuple[DataSetGain, ...]
    advice: tuple[str, ...] = ()
    waiting_logs: int | None = None


class GainReport(Open):
    """All links with most transfer time, those first that would save most.

    ``waiting_days`` : days of links whose logs are not in the sums yet.
    """

    made_at: datetime
    release: int | None = None
    saved_hours_a_month: WireInterval | None = None
    saved_j_a_month: float | None = None
    links: tuple[LinkGain, ...]
    links_left_out: int
    waiting_days: int
