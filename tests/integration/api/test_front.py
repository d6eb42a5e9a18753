"""What someone finds who knows the service's address alone."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from tests.stack import STACK


class References(HTMLParser):
    """Every address that a page names."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("src", "href", "action", "data")]


def test_root_address_describes_the_service_and_links_to_its_parts(api):
    answer = httpx.get(f"{api}/")
    assert answer.status_code == 200
    document = answer.json()
    assert (document["name"], document["version"]) == (
        "Tradewind",
        httpx.get(f"{api}/openapi.json", timeout=60).json()["info"]["version"],
    )
    assert set(document["links"]) == {"pages", "documentation", "openapi", "health", "readiness", "metrics"}
    if STACK:
        del document["links"]["metrics"]  # Caddy lets nobody there
    for link in document["links"].values():
        assert httpx.get(f"{api}{link}", follow_redirects=True).status_code == 200


def test_a_browser_is_sent_to_the_pages(api):
    answer = httpx.get(
        f"{api}/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}, follow_redirects=True
    )
    assert (answer.status_code, answer.url) == (200, f"{api}/admin/sign-in")
    assert answer.headers["Content-Type"].startswith("text/html")


def test_the_documentation_is_made_of_this_services_files_alone(api):
    page = httpx.get(f"{api}/docs")
    references = [urljoin(f"{api}/docs", each) for each in References(page.text).found]
    assert len(references) >= 4
    for each in references:
        if not each.startswith("data:"):
            assert urlsplit(each).netloc == urlsplit(api).netloc
            assert httpx.get(each).status_code == 200
    (initialiser,) = (each for each in references if each.endswith("/docs.js"))
    script = httpx.get(initialiser).text
    assert "validatorUrl: null" in script
    assert "//" not in re.sub(r"^//.*$", "", script, flags=re.MULTILINE)


def test_content_security_policy_of_the_docs_permits_no_other_origin(api):
    for path in ("/docs", "/docs/docs.js"):
        policy = dict(
            part.strip().split(" ", 1)
            for part in httpx.get(f"{api}{path}").headers["Content-Security-Policy"].split(";")
        )
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == "'self'"
        assert not any(word in " ".join(policy.values()) for word in ("http", "*"))


@pytest.mark.parametrize("name", ["absent.js", "LICENSE", "..%2ffront.py", "%2e%2e/front.py"])
def test_nothing_else_is_served(api, name):
    assert httpx.get(f"{api}/docs/{name}").status_code == 404


def test_the_framework_s_pages_with_scripts_of_others_are_gone(api):
    assert httpx.get(f"{api}/redoc").status_code == 404
