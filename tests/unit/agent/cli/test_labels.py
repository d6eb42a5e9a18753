"""Labels of a transfer: pairs that the service stores with it."""

from dataclasses import replace

import pytest
import typer
from pydantic import ValidationError

from tests.unit.agent.session.tuning_story import REQUEST
from tradewind.errors import InvalidValue
from tradewind_agent.cli.transfer_options import parse_labels


def test_labels_go_with_the_request():
    labels = parse_labels(["project=storm", "user=a b=c", "x.y-z_1=ü"])
    assert labels == {"project": "storm", "user": "a b=c", "x.y-z_1": "ü"}
    request = replace(REQUEST, labels=labels)
    request.check()
    assert request.to_wire().labels == labels
    assert REQUEST.to_wire().labels is None


@pytest.mark.parametrize(
    "texts",
    [["project"], ["=storm"], ["project="], ["a b=c"], ["ü=a"], ["a=1", "a=2"], ["a=b\nc"], [f"{'k' * 51}=v"]],
    ids=str,
)
def test_others_are_refused_in_one_line(texts: list[str]):
    with pytest.raises(typer.BadParameter) as refused:
        parse_labels(texts)
    assert "\n" not in str(refused.value)


def test_more_than_a_transfer_may_have_are_refused():
    texts = [f"k{number}=v" for number in range(21)]
    assert len(parse_labels(texts[:20])) == 20
    with pytest.raises(typer.BadParameter, match="20 at most"):
        parse_labels(texts)
    with pytest.raises(ValidationError):
        replace(REQUEST, labels=dict(text.split("=") for text in texts)).to_wire()


def test_value_that_no_request_can_hold_is_refused_without_a_service_too():
    with pytest.raises(InvalidValue):
        replace(REQUEST, labels={"project": "x" * 10_000}).check()
