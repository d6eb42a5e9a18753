"""The site: built strictly into ``var/site``, served on the loopback address, with nothing from other hosts."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "var" / "site"
MKDOCS = (sys.executable, "-P", "-m", "mkdocs")
LOADING = {"src", "srcset", "poster", "data"}
ELSEWHERE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
CSS_SOURCE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?((?:[a-z]+:)?//[^\"')\s]+)", re.IGNORECASE)
POLICY = "Content-Security-Policy"


def build_site(site: Path = SITE) -> str:
    """Build the site; return what MkDocs complains of, or nothing."""
    command = [*MKDOCS, "build", "--strict", "--site-dir", str(site)]
    done = subprocess.run(command, cwd=ROOT, env=_build_environment(), capture_output=True, text=True, check=False)
    return (done.stderr or done.stdout).strip() if done.returncode else ""


def serve_site(port: int) -> NoReturn:
    """Serve the site on the loopback address until Ctrl-C; it is built again whenever a document changes."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError as error:
            sys.exit(f"docs: cannot listen on port {port} ({error.strerror}); choose another with --port")
    print(f"docs: http://127.0.0.1:{port}/ until Ctrl-C", flush=True)
    os.chdir(ROOT)
    command = [*MKDOCS, "serve", "--quiet", "--dev-addr", f"127.0.0.1:{port}"]
    # In place of this process, so that signals reach the server.
    os.execve(command[0], command, _build_environment())  # noqa: S606


def find_foreign_sources(site: Path) -> Iterator[str]:
    """Yield what pages and style sheets would load from another host, and pages that do not forbid scripts to."""
    for page in sorted(site.rglob("*.html")):
        found = _Loaded()
        found.feed(page.read_text(encoding="utf-8"))
        yield from (f"{page.relative_to(site)} loads {source}" for source in found.sources if ELSEWHERE.match(source))
        if not found.has_policy:
            yield f"{page.relative_to(site)} has no {POLICY}"
    for sheet in sorted(site.rglob("*.css")):
        sources = CSS_SOURCE.findall(sheet.read_text(encoding="utf-8"))
        yield from (f"{sheet.relative_to(site)} loads {source}" for source in sources)


class _Loaded(HTMLParser):
    """Collects the addresses that a browser loads with a page; links that a reader follows are none."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.has_policy = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.sources += [value for name, value in named.items() if name in LOADING]
        if tag == "link" and named.get("rel") not in ("canonical", "next", "prev"):
            self.sources.append(named.get("href", ""))
        self.has_policy |= tag == "meta" and named.get("http-equiv") == POLICY


def _build_environment() -> dict[str, str]:
    return {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
