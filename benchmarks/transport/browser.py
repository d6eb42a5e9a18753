"""A real Chromium that loads pages and records them: a program that runs on the client's host of a path.

Each line on standard input is one load with connections and cache of its own, JSON: ``{"url", "har"}``; the program
answers with a line once the HAR is written.
"""

import json
import sys
from typing import Any

from playwright.sync_api import Browser, sync_playwright

LOAD_TIMEOUT_MS = 120_000


def load_page(browser: Browser, url: str, har: str) -> None:
    """Load a page until all of it has come, and write its HAR."""
    # A proxy on a testbed has a self-signed certificate.
    context = browser.new_context(record_har_path=har, record_har_content="omit", ignore_https_errors=True)
    try:
        # At the load event the recorder may still wait for the end of the last objects.
        context.new_page().goto(url, wait_until="networkidle", timeout=LOAD_TIMEOUT_MS)
    finally:
        context.close()  # which writes the HAR


def main() -> int:
    with sync_playwright() as playwright:
        # Debian's, as in the browser tests; Chromium's sandbox does not work for root.
        options: dict[str, Any] = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox"]}
        browser = playwright.chromium.launch(**options)
        sys.stdout.write(json.dumps({"version": browser.version}) + "\n")
        sys.stdout.flush()
        for line in sys.stdin:
            request = json.loads(line)
            load_page(browser, request["url"], request["har"])
            sys.stdout.write(json.dumps({"har": request["har"]}) + "\n")
            sys.stdout.flush()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
