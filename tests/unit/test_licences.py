from email.message import Message

import pytest

from infra.checks.licences import is_permitted, is_permitted_distribution


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
