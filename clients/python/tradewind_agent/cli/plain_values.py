"""Take values of the command line that need no conversion as they are.

The framework builds a validator of another library for every option, given or not, whose loading takes longer than all
else before a copy's first byte. Most values are text already, or not given. Whatever is not plainly right is left to
the framework, which reports what is wrong.
"""

from enum import StrEnum
from typing import Any

_UNKNOWN = object()


def without_validators(command: Any) -> Any:
    """Return ``command`` and its subcommands with plain values that bypass the framework's validators."""
    for parameter in command.params:
        _take_plainly(parameter)
    make_help = command.get_help_option  # is not among the other options
    command.get_help_option = lambda context: _take_plainly(make_help(context))
    for each in getattr(command, "commands", {}).values():
        without_validators(each)
    return command


def _take_plainly(parameter: Any) -> Any:
    if "process_value" in vars(parameter):
        return parameter  # the option of help is asked for several times
    validated = parameter.process_value
    annotation, stated = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info

    def process_value(context: Any, value: Any) -> Any:
        plain = (
            _UNKNOWN
            if parameter.required and not value
            else _convert_value(value, annotation, (stated.min, stated.max))
        )
        if plain is _UNKNOWN:
            return validated(context, value)
        return plain if parameter.callback is None else parameter.callback(context, parameter, plain)

    if stated.parser is None:
        parameter.process_value = process_value
    return parameter


def _convert_value(value: Any, annotation: Any, bounds: tuple[float | None, float | None]) -> Any:
    """``value`` as ``annotation`` has it; `_UNKNOWN` where that is not plain."""
    low, high = bounds
    if value is None:
        return None
    if annotation == list[str]:
        is_texts = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
        return list(value) if is_texts else _UNKNOWN
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return next((each for each in annotation if each == value), _UNKNOWN)
    if annotation is int and isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if annotation not in (str, int, float, bool) or type(value) is not annotation:
        return _UNKNOWN
    if annotation in (int, float) and not ((low is None or low <= value) and (high is None or value <= high)):
        return _UNKNOWN
    return value
