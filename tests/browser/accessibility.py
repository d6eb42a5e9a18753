"""What axe-core says of a page: contrast, labels, landmarks, the order of headings."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).with_name("axe") / "axe.min.js"
_ASK = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"


def offences(page: Page) -> list[str]:
    """Each rule that the page breaks, with the elements that do."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = page.evaluate(_ASK)
    return [f"{page.url}: {each['id']}: {node['html']}" for each in found for node in each["nodes"]]
