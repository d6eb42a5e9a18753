"""``tradewind releases``: list releases, compare one with the current release, publish one, or go back."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind.wire.releases import LinkChange, LinkMetrics, ReleaseComparison

NONE = "–"
HEADS = ("Release", "State", "Made", "Links", "Clusters")
COMPARED = ("Link", "With", "Change", "Clusters", "Accuracy", "90 % holds", "Regret", "Tiers")

Number = Annotated[int, typer.Argument(metavar="RELEASE", min=1, help="Its number.")]


def register(app: typer.Typer) -> None:
    releases = typer.Typer(help="Releases: list and compare them, publish one, or go back.", no_args_is_help=True)
    releases.command("list")(list_releases)
    releases.command()(compare)
    releases.command()(publish)
    releases.command()(rollback)
    app.add_typer(releases, name="releases")


def list_releases(*, as_json: options.Json = False) -> None:
    """List the newest releases; the current one is marked."""
    terminal = Terminal(as_json)
    with environment.open_client() as client:
        found = client.releases.page()
    document = {"releases": [each.model_dump(mode="json") for each in found]}
    if not found and not as_json:
        terminal.print_result("no release yet; workers make one a few minutes after the first logs have come", document)
        return
    rows = [
        (
            str(each.id),
            "current" if each.current else each.state.replace("_", " "),
            f"{each.created_at:%Y-%m-%d %H:%M}",
            str(each.links),
            str(each.clusters),
        )
        for each in found
    ]
    terminal.print_table(HEADS, rows, document)


def compare(release: Number, *, as_json: options.Json = False) -> None:
    """Show what publishing a release would change: links, the accuracy of each model, and tiers that move."""
    terminal = Terminal(as_json)
    with environment.open_client() as client:
        found = client.releases.compare(release)
    if found.links or as_json:
        terminal.print_table(COMPARED, list(_list_lines(found)), found.model_dump(mode="json"))
    if not as_json:
        terminal.note(_format_summary(found))


def publish(
    release: Number,
    *,
    reason: Annotated[str, typer.Option(help="Why, for the log of changes.")],
    as_json: options.Json = False,
) -> None:
    """Publish a release that was rejected or rolled back; the key needs the scope operator."""
    with environment.open_client() as client:
        now = client.releases.publish(release, reason)
    Terminal(as_json).print_result(f"release {now.id} is current", now.model_dump(mode="json"))


def rollback(release: Number, *, as_json: options.Json = False) -> None:
    """Return to an earlier release, or from the current one to its predecessor; needs the scope operator."""
    with environment.open_client() as client:
        now = client.releases.roll_back(release)
    Terminal(as_json).print_result(f"release {now.id} is current", now.model_dump(mode="json"))


def _list_lines(found: "ReleaseComparison") -> Iterator[Sequence[str]]:
    for each in found.links:
        yield (
            f"{each.source} → {each.destination}",
            each.mover,
            each.change,
            *(_format_change(each, name) for name in ("clusters", "accuracy", "coverage90", "regret", "tiers")),
        )


def _format_change(link: "LinkChange", name: str) -> str:
    return f"{_format_figure(link.before, name)} → {_format_figure(link.after, name)}"


def _format_figure(figures: "LinkMetrics | None", name: str) -> str:
    value = None if figures is None else getattr(figures, name)
    if value is None:
        return NONE
    return str(value) if isinstance(value, int) else f"{value:.1%}"


def _format_summary(found: "ReleaseComparison") -> str:
    current = "no current release" if found.in_force is None else f"the current release {found.in_force}"
    moved = found.tiers_changed - found.tiers_gained - found.tiers_lost
    return (
        f"release {found.release.id} next to {current}: {len(found.links)} links differ, {found.same} are the same; "
        f"{moved} tiers move, {found.tiers_gained} come, {found.tiers_lost} go"
    )
