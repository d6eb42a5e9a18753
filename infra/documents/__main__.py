"""Serve the documents as a site, check them, or print how long their sentences are: ``python -m infra.documents``."""

import argparse
import sys

from infra.documents.links import find_broken_links
from infra.documents.names import find_missing_names
from infra.documents.sentences import compute_average_sentence, find_hard_pages, list_pages_to_read
from infra.documents.site import ROOT, SITE, build_site, find_foreign_sources, serve_site
from infra.reference.pages import find_outdated_pages

PORT = 8000


def check_documents() -> list[str]:
    """Build the site and return what is wrong with it and with the documents outside it."""
    faults = [f"docs/{name} is out of date: python -m infra.reference" for name in find_outdated_pages()]
    faults += [*find_broken_links(), *find_missing_names(), *find_hard_pages()]
    complaint = build_site()
    return [*faults, complaint] if complaint else [*faults, *find_foreign_sources(SITE)]


def print_averages() -> None:
    """Print the average length of a sentence of each page, the longest last."""
    for average, page in sorted(
        (compute_average_sentence(page.read_text(encoding="utf-8")), page) for page in list_pages_to_read()
    ):
        print(f"{average:5.1f} words a sentence  {page.relative_to(ROOT)}")


def main() -> int:
    """Serve the site until Ctrl-C, or check it and return 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], prog="./run docs")
    parser.add_argument(
        "task", nargs="?", choices=("serve", "check", "averages"), default="serve", help="serve is the default"
    )
    parser.add_argument("--port", type=int, default=PORT, help=f"of the loopback address ({PORT})")
    options = parser.parse_args()
    if options.task == "serve":
        serve_site(options.port)
    if options.task == "averages":
        print_averages()
        return 0
    faults = check_documents()
    print("\n".join(faults) or "the documents build, and every link leads somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
