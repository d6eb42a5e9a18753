"""The report of gains in its wire form."""

from services.application.monitoring.gain import GainReport, ReportedLink
from tradewind import gain
from tradewind.prediction import Interval
from tradewind.wire.gain import DataSetGain, GainBackTest, LinkGain, LoggedSetting
from tradewind.wire.gain import GainReport as WireReport
from tradewind.wire.recommendations import WireInterval, to_wire_parameters

MOST_SETTINGS = 20
"""Logged settings of a data set in the document, those with most time; a sweep has hundreds."""


def to_wire_report(report: GainReport) -> WireReport:
    """Return the report as the API answers it."""
    return WireReport(
        made_at=report.made_at,
        release=report.release,
        saved_hours_a_month=_to_interval(report.saved_hours_a_month),
        saved_j_a_month=report.saved_j_a_month,
        links=tuple(map(_to_link, report.links)),
        links_left_out=report.links_left_out,
        waiting_days=report.waiting,
    )


def _to_link(link: ReportedLink) -> LinkGain:
    moved, found = link.gain.moved, link.gain
    return LinkGain(
        id=link.id,
        source=link.key.source,
        destination=link.key.destination,
        network=link.key.network,
        mover=link.key.mover,
        transfers=moved.transfers,
        bytes_moved=moved.bytes_moved,
        duration_s=moved.duration_s,
        first_day=moved.first_day,
        last_day=moved.last_day,
        hours_a_month=moved.hours_a_month,
        saved_hours_a_month=_to_interval(found.saved_hours_a_month),
        saved_j_a_month=found.saved_j_a_month,
        data_sets=tuple(map(_to_data_set, found.data_sets)),
        advice=found.advice,
        waiting_logs=found.waiting_logs,
    )


def _to_data_set(found: gain.DataSetGain) -> DataSetGain:
    return DataSetGain(
        mean_file_bytes=found.mean_file_bytes,
        file_count=found.file_count,
        rows=found.rows,
        used=tuple(
            LoggedSetting(
                parameters=to_wire_parameters(each.parameters),
                rows=each.rows,
                rate_bps=each.rate_bps,
                share_of_time=each.share_of_time,
            )
            for each in found.used[:MOST_SETTINGS]
        ),
        recommended=None if found.recommended is None else to_wire_parameters(found.recommended),
        rate_bps=_to_interval(found.rate_bps),
        gain=_to_interval(found.gain),
        saved_share=_to_interval(found.saved_share),
        energy_saved_share=found.energy_saved_share,
        back_test=None if found.back_test is None else _to_back_test(found.back_test),
        advice=found.advice,
    )


def _to_back_test(test: gain.BackTest) -> GainBackTest:
    interval = _to_interval(test.predicted)
    assert interval is not None
    return GainBackTest(predicted=interval, observed=test.observed, rows=test.rows, within=test.is_within)


def _to_interval(interval: Interval | None) -> WireInterval | None:
    return None if interval is None else WireInterval(mean=interval.mean, low=interval.low, high=interval.high)
