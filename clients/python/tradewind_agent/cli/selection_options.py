"""Options that choose the files of a copy: globs."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tradewind_agent.engine.remote.path_selection import PathSelection


def build_selection(
    *,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Copy only files that a glob matches, such as *.nc; may be given several times."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Copy no file that a glob matches, such as .git/; may be given several times."
        ),
    ] = None,
) -> "PathSelection":
    """Return which files are copied."""
    from tradewind.errors import InvalidValue
    from tradewind_agent.engine.remote.path_selection import PathGlob, PathSelection

    def parse(option: str, texts: list[str] | None) -> tuple[PathGlob, ...]:
        try:
            return tuple(map(PathGlob, texts or ()))
        except InvalidValue as wrong:
            raise typer.BadParameter(wrong.reason, param_hint=option) from None

    return PathSelection(parse("--include", include), parse("--exclude", exclude))
