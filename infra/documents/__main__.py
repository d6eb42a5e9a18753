"""Serve the documents as a site, or check them: ``python -m infra.documents [check] [--port N]``."""

import argparse
import sys

from infra.documents.links import find_broken_links, find_missing_paths
from infra.documents.site import SITE, build_site, find_foreign_sources, serve_site
from infra.reference.pages import find_outdated_pages

PORT = 8000


def check_documents() -> list[str]:
    """Build the site and return what is wrong with it and with the documents outside it."""
    outdated = [f"docs/{name} is out of date: python -m infra.reference" for name in find_outdated_pages()]
    if complaint := build_site():
        return [*outdated, complaint]
    return [*outdated, *find_foreign_sources(SITE), *find_broken_links(), *find_missing_paths()]


def main() -> int:
    """Serve the site until Ctrl-C, or check it and return 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], prog="./run docs")
    parser.add_argument(
        "task", nargs="?", choices=("serve", "check"), default="serve", help="serve (the default) or check"
    )
    parser.add_argument("--port", type=int, default=PORT, help=f"of the loopback address ({PORT})")
    options = parser.parse_args()
    if options.task == "serve":
        serve_site(options.port)
    faults = check_documents()
    print("\n".join(faults) or "the documents build, and every link leads somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
