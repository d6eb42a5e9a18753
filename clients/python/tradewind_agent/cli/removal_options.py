"""``--delete`` of a copy: what may be removed, and that the user agrees to it."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli.dry_run import name_removals
from tradewind_agent.cli.terminal import escape_unprintable

if TYPE_CHECKING:
    from tradewind_agent.copy.removal import PlannedRemoval


@dataclass(frozen=True, slots=True)
class RemovalOptions:
    """``delete`` : remove at the destination what the source does not have. ``has_consent`` : without asking."""

    delete: bool
    has_consent: bool

    def check(self, *, dry_run: bool, is_queue: bool) -> None:
        """Refuse removal that nobody has agreed to, or can be asked about.

        ``is_queue`` : several copies are to run, which may share a destination.
        """
        if self.has_consent and not self.delete:
            raise typer.BadParameter("goes with --delete", param_hint="--yes")
        if self.delete and is_queue:
            raise typer.BadParameter(
                "does not go with --batch, whose jobs may share a destination", param_hint="--delete"
            )
        if not self.delete or self.has_consent or dry_run:
            return
        if not sys.stdin.isatty():
            raise typer.BadParameter(
                "needs --yes where no terminal can be asked; --dry-run lists what would be removed",
                param_hint="--delete",
            )

    def confirm(self, removal: "PlannedRemoval | None") -> None:
        """Ask whether files may be removed, unless the user has agreed or there are none.

        Raises
        ------
        CopyFailed : they may not, so that nothing is copied either.
        """
        from tradewind.units import format_count
        from tradewind_agent.errors import CopyFailed

        if self.has_consent or removal is None or not removal.paths:
            return
        lines = [f"{format_count(len(removal.paths), 'file')} to remove when all is copied:", *name_removals(removal)]
        print(escape_unprintable("\n".join(lines)), file=sys.stderr)
        if not typer.confirm("Remove them?", err=True):
            raise CopyFailed("the removal was declined; nothing was copied, and nothing removed")


def build_removal_options(
    *,
    delete: Annotated[
        bool, typer.Option("--delete", help="Remove files at the destination that the source folder does not have.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them without asking.")] = False,
) -> RemovalOptions:
    """Return whether files are removed."""
    return RemovalOptions(delete, yes)
