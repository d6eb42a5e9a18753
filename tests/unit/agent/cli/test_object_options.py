"""Storage class, content type and metadata: what a store takes, and what is refused in one line."""

import pytest
import typer

from tradewind_agent.cli.object_options import build_object_properties
from tradewind_agent.engine.store_access import USUAL_PROPERTIES


def test_properties_are_read():
    given = build_object_properties(
        storage_class="DEEP_ARCHIVE", content_type="text/csv; charset=utf-8", metadata=["B-2=x=y", "a=", "c.d="]
    )
    assert given.metadata == (("a", ""), ("b-2", "x=y"), ("c.d", ""))
    assert (given.storage_class, given.content_type) == ("DEEP_ARCHIVE", "text/csv; charset=utf-8")
    assert build_object_properties(storage_class=None, content_type=None, metadata=None) == USUAL_PROPERTIES


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("storage_class", "cold"),
        ("storage_class", "A\nB"),
        ("storage_class", ""),
        ("content_type", "csv"),
        ("content_type", "text/csv\r\nX-Odd: 1"),
        ("metadata", ["novalue"]),
        ("metadata", ["a b=c"]),
        ("metadata", ["=c"]),
        ("metadata", ["a=é"]),
        ("metadata", ["a=b\nc"]),
        ("metadata", ["a= b"]),
        ("metadata", ["x-amz-meta-a=b"]),
        ("metadata", ["a=1", "A=2"]),
        ("metadata", ["a=" + "x" * 2048]),
    ],
)
def test_a_value_that_no_header_can_hold_is_refused(option: str, value: object):
    given: dict[str, object] = {"storage_class": None, "content_type": None, "metadata": None}
    with pytest.raises(typer.BadParameter) as refusal:
        build_object_properties(**{**given, option: value})
    assert "\n" not in str(refusal.value)
