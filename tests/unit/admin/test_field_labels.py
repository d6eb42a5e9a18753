"""What is wrong with a form, in the words of the form."""

import pytest

from services.admin.formatting.field_labels import refusal_in_words
from tradewind.errors import Conflict, InvalidValue, TradewindError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            InvalidValue("again", "is not the same as the new password"),
            "New password again: is not the same as the new password",
        ),
        (InvalidValue("fast, per_gb", "is empty"), "fast, Per GB: is empty"),
        (InvalidValue("roles", "field required"), "Roles: choose at least one"),
        (InvalidValue("name", "field required"), "Name: is missing"),
        (InvalidValue("scopes.0", "is none that there is"), "Scopes: is none that there is"),
        (InvalidValue("something", "is wrong"), "something: is wrong"),
        (Conflict("the book is published"), "the book is published"),
    ],
)
def test_a_field_goes_by_its_label(error: TradewindError, told: str) -> None:
    assert refusal_in_words(error) == told
