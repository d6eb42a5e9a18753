"""Generated pages of the reference: they name all that there is, and a page that is out of date is found."""

import re
from pathlib import Path

import pytest

from infra.documents.site import ROOT
from infra.reference import pages
from infra.reference.api import render_api, render_api_schemas
from infra.reference.command_line import render_command_line
from infra.reference.markdown import format_table
from infra.reference.metrics import render_metrics
from infra.reference.service_commands import render_service_commands
from infra.reference.settings import render_settings
from services.observability.telemetry import Event
from tradewind_agent.cli.app import COMMANDS

VARIABLE = re.compile(r"\"(TRADEWIND_[A-Z_]*[A-Z])\"")


def test_page_that_differs_from_the_code_is_out_of_date_until_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        pages, "PAGES", {"current.md": lambda: "same", "old.md": lambda: "new", "none.md": lambda: "new"}
    )
    (tmp_path / "current.md").write_text("same")
    (tmp_path / "old.md").write_text("old")
    assert list(pages.find_outdated_pages(tmp_path)) == ["old.md", "none.md"]
    pages.write_pages(tmp_path)
    assert list(pages.find_outdated_pages(tmp_path)) == []


@pytest.mark.parametrize("folder", ["services", "workers", "clients/python/tradewind_agent"])
def test_every_variable_that_code_reads_is_a_setting_of_the_page(folder: str) -> None:
    sources = (ROOT / folder).rglob("*.py")
    named = {name for source in sources for name in VARIABLE.findall(source.read_text(encoding="utf-8"))}
    shown = render_settings()
    assert {name for name in named if f"`{name}`" not in shown} == set()


def test_every_command_has_a_section() -> None:
    shown = render_command_line()
    assert {name for name in COMMANDS if f"\n## tradewind {name}\n" not in shown} == set()


def test_every_command_of_the_service_has_a_section() -> None:
    shown = render_service_commands()
    assert all(f"## python -m services.prepare {name}" in shown for name in ("database", "wait", "key", "login"))
    assert "## python -m services.backup restore" in shown


def test_default_port_is_written_without_comma() -> None:
    assert "| `TRADEWIND_PORT` | 8080 |" in render_settings()


def test_every_schema_that_a_call_links_to_is_described() -> None:
    schemas = render_api_schemas()
    linked = set(re.findall(r"api-schemas\.md#([\w-]+)", render_api() + schemas))
    assert linked
    assert linked <= {name.lower() for name in re.findall(r"^## ([\w-]+)$", schemas, re.MULTILINE)}


def test_every_log_event_and_alert_is_named() -> None:
    shown = render_metrics()
    assert {event for event in Event if f"`{event.value}`" not in shown} == set()
    assert "[NoWorker](../how-to/answer-alerts.md#noworker) | critical |" in shown


def test_bars_and_line_breaks_stay_within_their_cell() -> None:
    assert format_table(("a", "b"), [("one|two", "three\nfour")]) == "| a | b |\n|---|---|\n| one\\|two | three four |"
