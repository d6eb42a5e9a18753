"""A real Chromium that loads pages and records them: a program, to be run where the client of a path is.

Each line on standard input is one load with connections and cache of its own, JSON: ``{"url", "har"}``; a line comes
back once the HAR is written.
"""

import json
import sys
from typing import Any

from playwright.sync_api import Browser, sync_playwright

LOAD_TIMEOUT_MS = 120_000


def load(browser: Browser, url: str, har: str) -> None:
    """Load a page until all of it has come, and write what it did."""
    # The certificate of a proxy on a testbed is its own.
    context = browser.new_context(record_har_path=har, record_har_content="omit", ignore_https_errors=True)
    try:
        # At the load event the recorder may still wait to hear that the last objects are over.
        context.new_page().goto(url, wait_until="networkidle", timeout=LOAD_TIMEOUT_MS)
    finally:
        context.close()  # which writes the HAR


def main() -> int:
    with sync_playwright() as playwright:
        # Debian's, as the browser tests have it; root may have no sandbox.
        options: dict[str, Any] = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox"]}
        browser = playwright.chromium.launch(**options)
        sys.stdout.write(json.dumps({"version": browser.version}) + "\n")
        sys.stdout.flush()
        for line in sys.stdin:
            asked = json.loads(line)
            load(browser, asked["url"], asked["har"])
            sys.stdout.write(json.dumps({"har": asked["har"]}) + "\n")
            sys.stdout.flush()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
