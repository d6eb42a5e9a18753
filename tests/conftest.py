"""Rules for every test: in CI (CI=true), no test may be skipped."""

import gc
import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("tradewind", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("tradewind"), max_examples=15)
settings.load_profile("tradewind")
"""Property tests are judged by what they find, the same each time, never by how long an example takes.

`./run test --quick` tries fewer examples.
"""

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A script's background job ignores Ctrl-C, and so would every process that is started from here."""

collect_ignore = [] if "TRADEWIND_STACK" in os.environ else ["compose"]
"""Containers are tested only by ./run test --stack compose."""

IN_CI = os.environ.get("CI", "").lower() in ("1", "true")


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure that names the skip's reason; leave an expected failure as it is."""
    if IN_CI and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped(report)
    return report


def pytest_collection_finish() -> None:
    """Leave modules and collected tests to the end of the process: a tenth of all time went into looking at them."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start long files first, so that no process is left with one of them when the others are done."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
