import json
import shutil
from email.message import Message

import pytest

from infra.checks.licences import COMMITTED, ORIGIN, find_offences, is_permitted, is_permitted_distribution


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "mit",
        "MPL-2.0 AND (Apache-2.0 OR MIT)",
        "GPL-2.0-only OR BSD-3-Clause",
        "Apache-2.0 WITH LLVM-exception",
        "(MIT)",
    ],
)
def test_permitted(expression):
    assert is_permitted(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "MIT AND (GPL-2.0-only OR AGPL-3.0-only)",
        "(GPL-2.0-only OR MIT) AND AGPL-3.0-only",
        "Proprietary",
        "",
    ],
)
def test_not_permitted(expression):
    assert not is_permitted(expression)


def facts(**fields):
    message = Message()
    for name, value in fields.items():
        message[name.replace("_", "-")] = value
    return message


def test_the_expression_counts_before_the_field():
    assert not is_permitted_distribution(facts(License_Expression="GPL-3.0-only", License="MIT"))


def test_a_classifier_is_enough():
    assert is_permitted_distribution(facts(Classifier="License :: OSI Approved :: MIT License"))


def test_a_distribution_that_says_nothing_is_not_permitted():
    assert not is_permitted_distribution(facts(Name="unknown"))


@pytest.fixture
def committed(tmp_path):
    """A copy of the files of others that are committed."""
    (origin,) = COMMITTED[0].rglob(f"swagger-ui/{ORIGIN}")
    return shutil.copytree(origin.parent, tmp_path / origin.parent.name)


def test_committed_files_of_others_are_as_they_were_published(committed):
    assert list(find_offences(committed)) == []


def test_changed_added_and_missing_files_are_reported(committed):
    with (committed / "swagger-ui.css").open("a") as changed:
        changed.write("/**/")
    (committed / "added.js").touch()
    (committed / "NOTICE").unlink()
    offences = list(find_offences(committed))
    assert [each.split(":")[0].rpartition("/")[2] for each in offences] == ["NOTICE", "added.js", "swagger-ui.css"]


def test_committed_files_need_a_permitted_licence_next_to_them(committed):
    origin = json.loads((committed / ORIGIN).read_text())
    origin["licence"] = "AGPL-3.0-only"
    del origin["sha256"]["LICENSE"]
    (committed / "LICENSE").unlink()
    (committed / ORIGIN).write_text(json.dumps(origin))
    assert list(find_offences(committed)) == [
        "swagger-ui: AGPL-3.0-only",
        "swagger-ui: its licence is not with it",
    ]
