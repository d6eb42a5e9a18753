"""Checks of the documents: nothing on the site comes from another host, and links lead somewhere."""

from pathlib import Path

import pytest

from infra.documents.links import build_slug, find_broken_links, find_missing_paths
from infra.documents.sentences import MOST_WORDS, compute_average_sentence, find_hard_pages, split_sentences
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
    assert build_slug(heading) == slug


def test_only_prose_counts_as_sentences() -> None:
    text = """# A heading of many words that is no sentence at all

First sentence, with `a piece of code` in it. Second one?

| a table | of words |
|---|---|

    code = that is not read

- an item
- another [item](with/a/very/long/address.md) that
  goes on

        code = of the item

```sh
not this either
```
"""
    assert list(split_sentences(text)) == [
        "First sentence, with code in it.",
        "Second one?",
        "an item",
        "another item that goes on",
    ]
    assert compute_average_sentence(text) == (6 + 2 + 2 + 5) / 4


def test_sentences_of_every_document_are_short_on_average() -> None:
    assert list(find_hard_pages()) == []


def test_page_with_long_sentences_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "long.md").write_text("word " * 19 + ".\n")
    (tmp_path / "docs" / "short.md").write_text("word " * 18 + ".\n")
    assert list(find_hard_pages(tmp_path)) == [
        f"docs/long.md: 19.0 words a sentence on average, at most {MOST_WORDS:g}"
    ]
