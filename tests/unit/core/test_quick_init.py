"""Frozen values that are created quickly are frozen dataclasses in every other way."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace

import pytest

from tradewind.quick_init import add_quick_init


@add_quick_init
@dataclass(frozen=True, slots=True)
class Quick:
    """A value with a field by position, one with a default, and one by name."""

    first: int
    second: str = "two"
    third: float = field(default=3.0, kw_only=True)

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("first is negative")


@dataclass(frozen=True, slots=True)
class Usual:
    first: int
    second: str = "two"
    third: float = field(default=3.0, kw_only=True)


def test_it_holds_what_the_usual_one_holds():
    assert asdict(Quick(1)) == asdict(Usual(1))
    assert asdict(Quick(1, "b", third=4.0)) == asdict(Usual(1, "b", third=4.0))
    assert repr(Quick(1)) == repr(Usual(1)).replace("Usual", "Quick")
    assert Quick(1) == Quick(1) != Quick(2)
    assert hash(Quick(1)) == hash(Quick(1))
    assert type(Quick(1)) is Quick


def test_its_parameters_are_those_of_the_usual_one():
    assert inspect.signature(Quick) == inspect.signature(Usual)
    with pytest.raises(TypeError, match=r"Quick\.__init__\(\) missing 1 required positional argument: 'first'"):
        Quick()


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Quick(1).first = 2


def test_its_values_are_checked():
    with pytest.raises(ValueError, match="negative"):
        Quick(-1)


@pytest.mark.parametrize(
    "make_copy", [copy.copy, copy.deepcopy, replace, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_a_copy_is_equal_and_frozen(make_copy):
    copied = make_copy(Quick(1, "b"))
    assert copied == Quick(1, "b")
    with pytest.raises(FrozenInstanceError):
        copied.first = 2


def test_a_class_that_it_cannot_make_is_refused():
    with pytest.raises(TypeError, match="no slots"):
        add_quick_init(dataclass(frozen=True)(type("Loose", (), {"__annotations__": {"first": int}})))
    with pytest.raises(TypeError, match="no plain field"):

        @add_quick_init
        @dataclass(frozen=True, slots=True)
        class Made:
            first: list[int] = field(default_factory=list)

    with pytest.raises(TypeError, match="would inherit"):

        class Sub(Quick):
            pass
