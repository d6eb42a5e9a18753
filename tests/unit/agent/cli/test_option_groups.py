"""Options declared once and taken by several commands as one value."""

import inspect
from typing import Annotated

import pytest
import typer

from tradewind_agent.cli.option_groups import GroupOf, expand_groups


def size(*, width: Annotated[int, typer.Option(help="How wide.")] = 1, height: int = 2) -> tuple[int, int]:
    return width, height


def frame(*, outer: Annotated[tuple[int, int], GroupOf(size)], colour: str = "red") -> tuple[tuple[int, int], str]:
    return outer, colour


@pytest.fixture
def drawn():
    return []


@pytest.fixture
def draw(drawn):
    def command(
        name: str,
        *,
        framed: Annotated[tuple[tuple[int, int], str], GroupOf(frame)],
        loud: bool = False,
    ) -> None:
        """Draw."""
        drawn.append((name, framed, loud))

    return expand_groups(command)


def test_the_options_of_groups_stand_in_their_place_those_of_groups_within_too(draw):
    assert list(inspect.signature(draw).parameters) == ["name", "width", "height", "colour", "loud"]
    assert draw.__doc__ == "Draw."


def test_a_command_gets_what_its_groups_make_of_the_command_line(draw, drawn):
    app = typer.Typer()
    app.command()(draw)
    app(["a", "--width", "7", "--loud"], standalone_mode=False)
    assert drawn == [("a", ((7, 2), "red"), True)]


def test_a_group_may_refuse_its_options(drawn):
    def refuse(*, width: int = 0) -> int:
        raise typer.BadParameter(f"{width} is too small", param_hint="--width")

    def command(*, width: Annotated[int, GroupOf(refuse)]) -> None:
        drawn.append(width)

    app = typer.Typer()
    app.command()(expand_groups(command))
    with pytest.raises(typer.BadParameter, match="0 is too small"):
        app([], standalone_mode=False)
    assert drawn == []
