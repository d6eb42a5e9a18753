"""Checks of the documents: nothing on the site comes from elsewhere, links lead somewhere, names are the code's."""

from pathlib import Path

import pytest

from infra.documents.links import build_slug, find_broken_links
from infra.documents.names import find_missing_names
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


def test_every_name_of_the_code_in_a_document_is_there() -> None:
    assert list(find_missing_names()) == []


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("docs/decisions", "core/tradewind/tiers"):
        (tmp_path / folder).mkdir(parents=True)
    for package in ("core/tradewind", "core/tradewind/tiers"):
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "core/tradewind/flags.py").write_text("class Flag:\n    short = 'tradewind.task'\n", encoding="utf-8")
    (tmp_path / "core/tradewind/tiers/custom.py").write_text("def merge(): ...\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "`core/tradewind/flags.py`, `core/{tradewind,tradewind/tiers}`, `core/*/flags.py`, `docs/`, `tradewind/tiers`",
        "`flags.py`, `tiers/custom.py`, and `gain.html` of a user",
        "`Flag` and `Flag.short` in `flags.py`, but nobody says that `it` is in `flags.py`",
        "built in `core/tradewind/flags.py` (`Flag`, `short`), `tiers/custom.py`: `merge()`",
        "in order (`core/tradewind/tiers/custom.py`, `merge`), `then`",
        "`core/tradewind` (`flags`, `custom.py`, `merge`)",
        "`tradewind.flags.Flag`, `tradewind.tiers`, `python -m tradewind.flags --all`, the task `tradewind.task`",
        "`python -m benchmarks.NAME`; it replaces `core/gone.py`",
    ],
)
def test_names_that_are_there_are_no_fault(text: str, checkout: Path) -> None:
    (checkout / "docs" / "a.md").write_text(text, encoding="utf-8")
    assert list(find_missing_names(checkout)) == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("`docs/{a,b}.md`", ["docs/{a,b}.md"]),
        ("`core/gone.py` and `tradewind/gone`", ["core/gone.py", "tradewind/gone"]),
        ("`gone.py`, `core/custom.py`, `iers/custom.py`", ["gone.py", "core/custom.py", "iers/custom.py"]),
        ("`Flag`, `gone` and `Flag.long` in `flags.py`", ["gone in flags.py", "Flag.long in flags.py"]),
        ("`core/tradewind/flags.py` (`Flag`,\n`gone`)", ["gone in core/tradewind/flags.py"]),
        ("(`flags.py`, `gone`)", ["gone in flags.py"]),
        ("`flags.py`: `hort` is one", ["hort in flags.py"]),
        ("`core/tradewind` (`flags`, `gone`)", ["gone in core/tradewind"]),
        ("`tradewind.gone`, `-m tradewind.tiers.gone`", ["tradewind.gone", "tradewind.tiers.gone"]),
        ("`tradewind.flags.Gone()`", ["tradewind.flags.Gone"]),
    ],
)
def test_name_that_is_gone_is_found(text: str, missing: list[str], checkout: Path) -> None:
    (checkout / "docs" / "a.md").write_text(text, encoding="utf-8")
    assert list(find_missing_names(checkout)) == [f"docs/a.md: there is no {each}" for each in missing]


@pytest.mark.parametrize(
    ("document", "text", "found"),
    [
        ("docs/decisions/0001-a.md", "# 1. A\n\nStatus: accepted; built in `gone.py`.\n", ["gone.py"]),
        ("docs/decisions/0001-a.md", "# 1. A\n\nStatus: replaced by decision 2.\n\n`gone.py`\n", []),
        ("CHANGELOG.md", "## Unreleased\n\n`new.py`\n\n## [1.0.0]\n\n`gone.py`\n", ["new.py"]),
    ],
)
def test_history_may_name_what_is_gone(document: str, text: str, found: list[str], checkout: Path) -> None:
    (checkout / document).write_text(text, encoding="utf-8")
    assert list(find_missing_names(checkout)) == [f"{document}: there is no {each}" for each in found]


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
