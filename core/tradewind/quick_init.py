"""Make frozen dataclasses about ten times as fast to create, for values that logs hold by the million.

The ``__init__`` of a frozen dataclass calls ``object.__setattr__`` for each field. Here the new object is, until it is
complete, of a class with the same slots whose attributes may be set, so that each field is one plain store.
"""

from dataclasses import MISSING, Field, fields
from typing import TypeVar

Value = TypeVar("Value")


def add_quick_init(cls: type[Value]) -> type[Value]:
    """Give a frozen dataclass with slots an ``__init__`` that stores its fields directly; a decorator above it.

    Parameters, defaults and ``__post_init__`` stay as they are.

    Raises
    ------
    TypeError : the class has a base or subclass, no slots, or a default that is made by a function.
    """
    own_fields = fields(cls)  # type: ignore[arg-type]  # a dataclass, or it raises TypeError
    if cls.__bases__ != (object,) or "__slots__" not in vars(cls):
        raise TypeError(f"{cls.__name__} has a base, or no slots")
    incomplete = type(f"_Incomplete{cls.__name__}", (), {"__slots__": tuple(each.name for each in own_fields)})
    defaults = {f"_{each.name}": each.default for each in own_fields if each.default is not MISSING}
    names = defaults | {"_thaw": object.__setattr__, "_incomplete": incomplete, "_cls": cls}
    exec(_write_init(own_fields, has_check=hasattr(cls, "__post_init__")), names)  # noqa: S102  # as dataclasses does it
    init = names["__init__"]
    init.__annotations__ = cls.__init__.__annotations__
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = init  # type: ignore[method-assign]
    cls.__init_subclass__ = classmethod(_refuse_subclass)  # type: ignore[assignment]
    return cls


def _write_init(own_fields: tuple[Field[object], ...], *, has_check: bool) -> str:
    parameters, is_keyword_only = ["self"], False
    for each in sorted(own_fields, key=lambda each: bool(each.kw_only)):
        if not each.init or each.default_factory is not MISSING:
            raise TypeError(f"{each.name} is no plain field")
        if each.kw_only and not is_keyword_only:
            parameters.append("*")
            is_keyword_only = True
        parameters.append(each.name if each.default is MISSING else f"{each.name}=_{each.name}")
    lines = [
        f"def __init__({', '.join(parameters)}):",
        "_thaw(self, '__class__', _incomplete)",
        *(f"self.{each.name} = {each.name}" for each in own_fields),
        "self.__class__ = _cls",
        *(["self.__post_init__()"] if has_check else []),
    ]
    return "\n    ".join(lines)


def _refuse_subclass(cls: type) -> None:
    raise TypeError(f"{cls.__name__} would inherit an __init__ that makes objects of its base")
