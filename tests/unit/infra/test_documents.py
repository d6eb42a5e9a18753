"""Checks of the documents: nothing on the site comes from another host, and links lead somewhere."""

from pathlib import Path

import pytest

from infra.documents.links import find_broken_links, find_missing_paths, slug_of
from infra.documents.site import build_site, find_foreign_sources

POLICY = '<meta http-equiv="Content-Security-Policy" content="default-src \'self\'">'


@pytest.mark.parametrize(
    ("html", "source"),
    [
        ('<script src="https://cdn.example/a.js"></script>', "https://cdn.example/a.js"),
        ('<img src="//pictures.example/a.png">', "//pictures.example/a.png"),
        ('<link rel="stylesheet" href="https://fonts.example/css">', "https://fonts.example/css"),
        ('<link rel="preconnect" href="https://fonts.example">', "https://fonts.example"),
    ],
)
def test_source_from_another_host_is_found(html: str, source: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(POLICY + html, encoding="utf-8")
    assert list(find_foreign_sources(tmp_path)) == [f"index.html loads {source}"]


def test_links_to_follow_and_sources_of_our_own_are_no_fault(tmp_path: Path) -> None:
    page = (
        f'{POLICY}<a href="https://elsewhere.example/">there</a><img src="pictures/a.png"><script src="a.js"></script>'
    )
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    assert list(find_foreign_sources(tmp_path)) == []


def test_style_sheet_that_loads_from_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@import 'https://fonts.example/css'; a { background: url(own.svg) }")
    assert list(find_foreign_sources(tmp_path)) == ["a.css loads https://fonts.example/css"]


def test_page_that_lets_scripts_load_from_anywhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>open</p>", encoding="utf-8")
    assert list(find_foreign_sources(tmp_path)) == ["index.html has no Content-Security-Policy"]


def test_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    assert build_site(tmp_path) == ""
    assert (tmp_path / "index.html").exists()
    assert list(find_foreign_sources(tmp_path)) == []


def test_documents_outside_the_site_have_no_broken_links() -> None:
    assert list(find_broken_links()) == []


def test_every_path_of_the_checkout_that_a_document_names_is_there() -> None:
    assert list(find_missing_paths()) == []


def test_path_that_is_gone_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("`docs/a.md`, `docs/{a,b}.md`, `docs/*.md`, `docs/`, `core/gone.py`")
    assert list(find_missing_paths(tmp_path)) == [
        "docs/a.md: there is no docs/{a,b}.md",
        "docs/a.md: there is no core/gone.py",
    ]


def test_link_after_code_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading\n")
    links = "[good](there.md#a-heading), [gone](gone.md), [wrong](there.md#none), `[code](no.md)`"
    text = f"    code [of](nobody.md)\n\n{links}\n"
    (tmp_path / "README.md").write_text(text)
    assert list(find_broken_links(tmp_path)) == [
        "README.md: gone.md leads nowhere",
        "README.md: there.md#none leads nowhere",
    ]


@pytest.mark.parametrize(
    ("heading", "slug"),
    [("Other people's tools", "other-peoples-tools"), ("`copy` of 10,000 files", "copy-of-10000-files")],
)
def test_anchor_of_a_heading_is_that_of_the_site(heading: str, slug: str) -> None:
    assert slug_of(heading) == slug
