"""Separate browsers' logs (HAR) from other logs and upload them; the service stores the connections of their pages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tradewind.errors import InvalidValue, TooLarge
from tradewind.path import Path as NetworkPath
from tradewind.units import format_bytes, format_count
from tradewind.wire.connections import ConnectionAnalysis, analyse_har
from tradewind_agent.errors import RequestRefused, ServiceFailed, ServiceUnreachable
from tradewind_agent.har.file import begins_as_har, looks_like_har, read_har
from tradewind_agent.service.client import Client
from tradewind_agent.system_errors import explain_os_error

HAR = "har"

NamedLog = tuple[str, Path | IO[bytes]]


@dataclass(frozen=True, slots=True)
class HarReport:
    """The analysis of one log, or why it could not be read."""

    name: str
    analysis: ConnectionAnalysis | None = None
    failure: str | None = None

    def build_document(self) -> dict[str, Any]:
        document = None if self.analysis is None else self.analysis.model_dump(mode="json")
        return {"file": self.name, "failure": self.failure} | (document or {"tool": None, "pages": []})

    def format_lines(self) -> Iterator[str]:
        """Yield the report as lines for the user."""
        if self.analysis is None:
            yield f"{self.name}: {self.failure}"
            return
        yield f"{self.name}: {HAR}, {format_count(len(self.analysis.pages), 'page')}"
        for page in self.analysis.pages:
            stored = "" if page.id is None else f", kept as {page.id}"
            connections = format_count(len(page.connections), "connection")
            yield f"  {page.name}: {format_bytes(page.wire_bytes)} over {connections}{stored}"


def split(logs: Iterable[NamedLog], format_name: str) -> tuple[list[NamedLog], list[NamedLog]]:
    """Split logs into browsers' logs and others; the format "auto" decides by content."""
    hars, others = list[NamedLog](), list[NamedLog]()
    for name, log in logs:
        chosen = format_name == HAR or (format_name == "auto" and _begins_as_har(log))
        (hars if chosen else others).append((name, log))
    return hars, others


def _begins_as_har(log: Path | IO[bytes]) -> bool:
    if isinstance(log, Path):
        return looks_like_har(log)
    peek = getattr(log, "peek", None)  # a pipe's buffer has it: what it shows is read again
    return peek is not None and begins_as_har(peek())


def upload_hars(
    hars: Sequence[NamedLog], *, client: Client | None, path: NetworkPath, proxy: str | None = None
) -> Iterator[HarReport]:
    """Have the service analyse and store each log; without a client, analyse it here.

    The report of a log says if it cannot be read or the service refuses it; the other logs go on.

    Parameters
    ----------
    proxy : name of one's own cache.
    """
    for name, log in hars:
        try:
            har = read_har(log)
            if client is None:
                analysis = analyse_har(har, path=path, proxy=proxy)
            else:
                analysis = client.analyse_connections(har, path=path, proxy=proxy)
        except (InvalidValue, TooLarge, RequestRefused, ServiceFailed, ServiceUnreachable) as wrong:
            yield HarReport(name, failure=str(wrong))
        except OSError as failed:
            yield HarReport(name, failure=f"cannot be read: {explain_os_error(failed)}")
        else:
            yield HarReport(name, analysis)


def build_har_document(reports: Sequence[HarReport], *, dry_run: bool) -> dict[str, Any]:
    """Return the reports as a document; empty without reports."""
    return {"hars": [each.build_document() for each in reports], "dry_run": dry_run} if reports else {}


def list_har_lines(reports: Sequence[HarReport], *, dry_run: bool) -> list[str]:
    """Return the closing lines; none without reports."""
    if not reports:
        return []
    pages = sum(len(each.analysis.pages) for each in reports if each.analysis is not None)
    verb = "would be kept" if dry_run else "kept"
    return [*(line for each in reports for line in each.format_lines()), f"{format_count(pages, 'page')} {verb}"]
