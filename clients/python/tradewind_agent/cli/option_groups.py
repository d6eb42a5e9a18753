"""Options that belong together as one value: declared once, taken by several commands.

A command marks a parameter with ``GroupOf(make)``. On the command line the options of ``make`` stand in its place; the
command gets what ``make`` returns.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any


@dataclass(frozen=True, slots=True)
class GroupOf:
    """Marks a parameter (in ``Annotated``) whose value ``make`` makes of its own options."""

    make: Callable[..., Any]

    @property
    def options(self) -> tuple[inspect.Parameter, ...]:
        """The options on the command line, those of groups within the group among them."""
        return tuple(_expand_parameters(self.make))

    def make_value(self, given: dict[str, Any]) -> Any:
        """Return what ``make`` makes of its options, and take these out of ``given``."""
        return self.make(**_take_arguments(self.make, given))


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """``command`` with the options of its groups in their place, as typer is to see it."""

    @wraps(command)
    def with_groups(**given: Any) -> None:
        command(**_take_arguments(command, given))

    options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in _expand_parameters(command)]
    with_groups.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # what `inspect` reads first
    with_groups.__annotations__ = {option.name: option.annotation for option in options}
    return with_groups


def _list_parameters(function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, GroupOf | None]]:
    """Yield the parameters of a function, with the group that each is marked with."""
    for parameter in inspect.signature(function).parameters.values():
        marks = getattr(parameter.annotation, "__metadata__", ())
        yield parameter, next((mark for mark in marks if isinstance(mark, GroupOf)), None)


def _expand_parameters(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    for parameter, group in _list_parameters(function):
        if group is None:
            yield parameter
        else:
            yield from group.options


def _take_arguments(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """Take the arguments of a function out of the values of all options."""
    return {
        parameter.name: given.pop(parameter.name) if group is None else group.make_value(given)
        for parameter, group in _list_parameters(function)
    }
