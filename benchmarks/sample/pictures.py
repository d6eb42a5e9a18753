"""Take the pictures of the pages in ``docs/pictures``: ``python -m benchmarks.sample.pictures``.

Debian's Chromium looks at ``./run serve --sample`` on a folder of its own, which is removed again.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

from benchmarks.demo.stack import PYTHON, find_free_port, run_process
from benchmarks.support.report import ROOT

FOLDER = ROOT / "docs" / "pictures"
SIZE = ViewportSize(width=1280, height=1000)
CHROMIUM_FLAGS = ("--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PASSWORD = "a password for pictures"
PATIENCE_MS = 60_000
DRAWN_MS = 1_500
"""Time that a chart takes to be drawn; there is no signal when one in three dimensions is."""

CLUSTER = "Surface and tiers"
QUERY = """\
SELECT destination, concurrency AS files_at_once,
       avg(throughput_bps) / 1e6 AS mbit_s
  FROM transfers JOIN links USING (link_id)
 WHERE source = 'sample-origin' AND parallelism = 1
   AND concurrency IN (1, 2, 4, 8, 16)
 GROUP BY 1, 2 ORDER BY 1, 2"""


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        Path(work).chmod(0o755)
        environment = {"TRADEWIND_DATA": f"{work}/data", "TRADEWIND_PORT": str(find_free_port())}
        with run_process(
            "sample", (*PYTHON, "benchmarks.sample.serve"), logs=Path(work), environment=environment
        ) as sample:
            address = sample.wait_for_line(r"API.*?(http://\S+)")[1]
            password = sample.wait_for_line(r"password (\S+)")[1]
            sample.wait_for_line(r"sample: ready")
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS)
                page = chromium.new_context(base_url=address, viewport=SIZE).new_page()
                page.set_default_timeout(PATIENCE_MS)
                _sign_in(page, password)
                take_all(page)
                chromium.close()
    return 0


def take_all(page: Page) -> None:
    """Take every picture, in the order in which a provider and then an analyst would visit the pages."""
    _take_picture(page, "overview", "/admin")
    page.goto("/admin/transfers")
    page.get_by_role("row").filter(has_text="throughput").filter(has_text="sample-continent").get_by_role(
        "link"
    ).first.click()
    _take_picture(page, "transfer")
    page.goto("/admin/links")
    page.get_by_role("row").filter(has_text="sample-ocean").get_by_role("link").first.click()
    page.get_by_role("link", name=CLUSTER).last.click()
    _take_picture(page, "cluster")
    for name in ("links", "transfers", "tiers", "usage", "logs"):
        _take_picture(page, name, f"/admin/{name}")
    page.goto("/admin/usage")
    page.get_by_role("link", name="mover at sample-agent").first.click()
    _take_picture(page, "statement")
    page.goto("/admin/price-books")
    page.get_by_role("link", name="Sample prices").first.click()
    _take_picture(page, "price-book")
    page.goto("/admin/price-books")
    page.get_by_role("button", name="Draft a copy of Sample prices").click()
    _raise_prices(page)
    page.locator("#what-if").screenshot(path=FOLDER / "what-if.png")
    page.goto("/admin/sql")
    page.get_by_label("Query").fill(QUERY)
    page.get_by_role("button", name="Run").click()
    page.locator("#answer").wait_for()
    _take_picture(page, "sql")


def _raise_prices(page: Page) -> None:
    """Set another base price for all tiers of the link shown, and the provider's cost of a kWh."""
    together = page.locator("form").filter(has=page.get_by_role("button", name="Set all"))
    for label, price in (("Base", "0.02"), ("per GB", "0.030"), ("per kWh", "0.25"), ("Mark-up, %", "30")):
        together.get_by_label(label).fill(price)
    with page.expect_navigation():
        together.get_by_role("button", name="Set all").click()
    page.get_by_label("What a kWh costs you").fill("0.18")
    with page.expect_navigation():
        page.get_by_role("button", name="Save the cost of energy").click()
    page.wait_for_timeout(DRAWN_MS)


def _sign_in(page: Page, password: str) -> None:
    page.goto("/admin")
    page.get_by_label("Login").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Password until now").fill(password)
    page.get_by_label("New password", exact=False).first.fill(PASSWORD)
    page.get_by_label("New password again").fill(PASSWORD)
    page.get_by_role("button", name="Change the password").click()
    page.get_by_role("heading", name="Overview").wait_for()


def _take_picture(page: Page, name: str, address: str | None = None) -> None:
    if address is not None:
        page.goto(address)
    page.wait_for_load_state("load")
    page.wait_for_timeout(DRAWN_MS)
    page.screenshot(path=FOLDER / f"{name}.png")
    sys.stdout.write(f"{FOLDER / name}.png\n")


if __name__ == "__main__":
    sys.exit(main())
