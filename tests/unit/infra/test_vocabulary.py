import pytest

from infra.checks.vocabulary import Vocabulary, find_in_source, list_offences

VOCABULARY = Vocabulary(
    names={"told": "format", "kept": "stored", "in_force": "current"},
    texts={"told": "reported", "of which": "two sentences"},
    openings=frozenset({"the", "whether"}),
    permitted_names={"kept_at": "column"},
    permitted_files={"told": {"core/sagas/*": "its subject"}},
    permitted_openings={"core/later/*": "changed by a later step"},
)


def words_of(source: str, path: str = "core/module.py") -> list[str]:
    found = find_in_source(path, source, VOCABULARY)
    return sorted(finding.word for finding in found if VOCABULARY.find_permission(finding) is None)


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


@pytest.mark.parametrize("source", ["price_in_force = 1\n", "class InForce: ...\n"])
def test_banned_pair_of_words_is_found_in_names(source):
    assert words_of(source) == ["in_force"]


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


def test_docstring_of_a_function_that_begins_with_no_verb_is_found():
    source = 'def read():\n    """The rows of a file."""\n'
    assert words_of(source) == ["the"]
    assert words_of(source, "core/later/module.py") == []
    assert words_of(source, "tests/unit/rows.py") == []


@pytest.mark.parametrize(
    "source",
    [
        'def read():\n    """Read the rows of a file."""\n',
        'class Rows:\n    """The rows of a file."""\n',
        'class Rows:\n    @cached_property\n    def count(self):\n        """The number of rows."""\n',
        "def read(): ...\n",
    ],
)
def test_docstrings_of_sentences_classes_and_properties_are_not_found(source):
    assert words_of(source) == []


def test_word_is_permitted_in_files_that_are_about_it():
    assert words_of("told = 1\n", "core/sagas/edda.py") == []


def test_names_of_tests_are_judged_but_not_their_variables():
    assert words_of("def test_user_is_told():\n    kept = 1\n", "tests/unit/test_x.py") == ["told"]


def test_name_of_a_test_without_a_subject_is_found():
    assert words_of("def test_who_waits_goes_on(): ...\n", "tests/unit/test_x.py") == ["who"]
    assert words_of("def test_transfer_that_waits_goes_on(): ...\n", "tests/unit/test_x.py") == []


def test_word_that_nothing_permits_is_reported_with_its_place_and_replacement():
    findings = list(find_in_source("core/module.py", "kept_at = 1\ntold = 2\n", VOCABULARY))
    first, *_ = list_offences(findings, VOCABULARY)
    assert first == "core/module.py:2: told: write format for 'told'"


def test_permission_that_nothing_needs_is_reported():
    findings = list(find_in_source("core/sagas/edda.py", "told = 1\n", VOCABULARY))
    assert list_offences(findings, VOCABULARY) == [
        "vocabulary.toml: nothing needs the permission of kept_at",
        "vocabulary.toml: nothing needs the permission of openings in core/later/*",
    ]
