"""Requests to a service of an earlier version, which refuses fields that it does not know.

During an upgrade one by one, and after going back, agents of this version meet it. They then leave these fields out:
what they are for does not work there, and everything else does.
"""

from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from tradewind_agent.errors import RequestRefused
from tradewind_agent.service.calls import Calls

ADDED_FIELDS = ("adjustable_resources", "settled_rtt_s", "failure")
"""Of recommendations, heartbeats and completions, since the first version."""

_REFUSAL = "is not a known field"

_Model = TypeVar("_Model", bound=BaseModel)
_Answer = TypeVar("_Answer")


class OlderService:
    """Calls of one service, and what it has been found not to know, until this program ends."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._unknown: set[str] = set()

    def post(self, path: str, answer: TypeAdapter[_Answer], body: BaseModel, **options: Any) -> _Answer:
        """Send ``body`` without what the service does not know; what it refuses for that is sent again, once a field.

        ``options`` : as for `Calls.call`.

        Raises
        ------
        RequestRefused : for another reason.
        """
        while True:
            try:
                return self._calls.call("POST", path, answer, body=_leave_out(body, self._unknown), **options)
            except RequestRefused as refused:
                name = (refused.field or "").rpartition(".")[2]
                if name not in ADDED_FIELDS or name in self._unknown or _REFUSAL not in (refused.reason or ""):
                    raise
                self._unknown.add(name)


def _leave_out(body: _Model, names: set[str]) -> _Model:
    """Return a copy in which these fields were never set, in the models within it, too; the body itself if none is."""
    changed = {
        name: shorter
        for name in body.model_fields_set
        if (shorter := _leave_out_of_value(inner := getattr(body, name), names)) is not inner
    }
    unset = names & body.model_fields_set
    if not changed and not unset:
        return body
    shorter_body = body.model_copy(update=changed)
    shorter_body.__pydantic_fields_set__.difference_update(unset)
    return shorter_body


def _leave_out_of_value(value: Any, names: set[str]) -> Any:
    """Return the same of a field's value: of a model, or of a tuple of models."""
    if isinstance(value, BaseModel):
        return _leave_out(value, names)
    if not isinstance(value, tuple) or not any(isinstance(each, BaseModel) for each in value):
        return value
    shorter = tuple(_leave_out_of_value(each, names) for each in value)
    return value if all(one is other for one, other in zip(value, shorter, strict=True)) else shorter
