"""What is wrong with a form, in the words of the form."""

import pytest

from services.admin.formatting.field_labels import format_refusal
from tradewind.errors import Conflict, InvalidValue, TradewindError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            InvalidValue("again", "is not the same as the new password"),
            "New password again is not the same as the new password",
        ),
        (InvalidValue("fast, per_gb", "is empty"), "fast, Per GB is empty"),
        (InvalidValue("roles", "field required"), "Roles: choose at least one"),
        (InvalidValue("name", "field required"), "Name is missing"),
        (InvalidValue("scopes.0", "is none that there is"), "Scopes is none that there is"),
        (InvalidValue("something", "is wrong"), "something is wrong"),
        (InvalidValue("streams", "input should be less than or equal to 32767"), "Streams must be at most 32767"),
        (
            InvalidValue("weight", "input should be a valid number, unable to parse string as a number"),
            "Weight must be a number",
        ),
        (InvalidValue("margin", "is above 1,000 %"), "Mark-up is above 1,000 %"),
        (Conflict("the book is published"), "the book is published"),
    ],
)
def test_a_field_goes_by_its_label(error: TradewindError, told: str) -> None:
    assert format_refusal(error) == told
