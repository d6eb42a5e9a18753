"""The generated pages: where each is kept, and what renders it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from infra.reference.api import render_api, render_api_schemas
from infra.reference.authorisation import render_authorisation
from infra.reference.command_line import render_command_line
from infra.reference.dbt_sources import render_dbt_sources
from infra.reference.decisions import render_decisions
from infra.reference.log_formats import render_log_formats
from infra.reference.metrics import render_metrics
from infra.reference.service_commands import render_service_commands
from infra.reference.settings import render_settings
from infra.reference.warehouse import render_warehouse

DOCUMENTS = Path(__file__).resolve().parents[2] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "decisions/index.md": render_decisions,
    "reference/api.md": render_api,
    "reference/api-schemas.md": render_api_schemas,
    "reference/authorisation.md": render_authorisation,
    "reference/command-line.md": render_command_line,
    "reference/dbt-sources.yml": render_dbt_sources,
    "reference/log-formats.md": render_log_formats,
    "reference/metrics.md": render_metrics,
    "reference/service-commands.md": render_service_commands,
    "reference/settings.md": render_settings,
    "reference/warehouse-schema.md": render_warehouse,
}


def find_outdated_pages(documents: Path = DOCUMENTS) -> Iterator[str]:
    """Yield the name of each page that differs from what the code gives."""
    for name, render in PAGES.items():
        page = documents / name
        if not page.exists() or page.read_text(encoding="utf-8") != render():
            yield name


def write_pages(documents: Path = DOCUMENTS) -> None:
    """Write every page that differs from what the code gives."""
    for name, render in PAGES.items():
        (documents / name).write_text(render(), encoding="utf-8")
