from collections import Counter

import pytest

from infra.checks.vocabulary import LIST, ROOT, Vocabulary, find_in_checkout, find_in_source, list_offences

VOCABULARY = Vocabulary(
    names={"told": "format", "kept": "stored"},
    texts={"told": "reported", "of which": "two sentences"},
    permitted_names={"kept_at": "column"},
    permitted_files={"told": {"core/sagas/*": "its subject"}},
    remaining={"old.py": 1},
)


def words_of(source: str, path: str = "core/module.py") -> list[str]:
    return sorted(finding.word for finding in find_in_source(path, source, VOCABULARY))


@pytest.mark.parametrize(
    "source",
    [
        "def told(): ...\n",
        "class WhatWasTold: ...\n",
        "TOLD = 1\n",
        "f(told=1)\n",
        "x.told_once\n",
        "def f(told): ...\n",
    ],
)
def test_banned_word_is_found_in_every_kind_of_name(source):
    assert words_of(source) == ["told"]


@pytest.mark.parametrize("source", ["untold = 1\n", "kept_at = 1\n", "x = 'told'\n", "x = {'told': 1}\n"])
def test_other_words_permitted_names_and_keys_are_not_found(source):
    assert words_of(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "# what the user is told first\n",
        '"""What the user is told first."""\n',
        "raise E(f'{name} is told of {x}')\n",
        "print('three words told')\n",
    ],
)
def test_banned_word_is_found_in_comments_docstrings_and_messages(source):
    assert words_of(source) == ["told"]


def test_banned_phrase_is_found_across_a_line_break():
    assert words_of('"""Files, some of\n    which are links."""\n') == ["of which"]


def test_word_is_permitted_in_files_that_are_about_it():
    assert words_of("told = 1\n", "core/sagas/edda.py") == []


def test_names_of_tests_are_judged_but_not_their_variables():
    assert words_of("def test_what_is_told():\n    kept = 1\n", "tests/unit/test_x.py") == ["told"]


def test_file_with_more_words_than_permitted_is_refused():
    findings = list(find_in_source("old.py", "told = kept = 1\n", VOCABULARY))
    assert len(list(list_offences(findings, VOCABULARY))) == 2


def test_number_that_is_too_high_is_refused():
    assert list(list_offences([], VOCABULARY)) == ["old.py: 0 left of 1: lower the number by --write"]


def test_vocabulary_of_the_project_permits_nothing_that_is_gone():
    vocabulary = Vocabulary.from_toml(LIST.read_text(encoding="utf-8"))
    strict = Vocabulary(vocabulary.names, vocabulary.texts, {}, {}, {})
    found = find_in_checkout(ROOT, strict)
    names = Counter(finding.where for finding in found)
    assert [name for name in vocabulary.permitted_names if name not in names] == []
    assert vocabulary.permitted_files.keys() <= {finding.word for finding in found}
