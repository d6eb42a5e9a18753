"""``tradewind regions``: electricity prices and carbon intensities by hour, for copies that start when it suits."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind.wire.regions import Region

HEADS = ("Region", "Currency", "Hours", "From", "To", "Gaps", "Negative prices", "Endpoints")
HOUR_HEADS = ("Hour", "Price a kWh", "g CO2 a kWh")
NONE = "–"

RegionArgument = Annotated[str, typer.Argument(metavar="REGION", help="Name of the region, such as DE-LU.")]


def register(app: typer.Typer) -> None:
    regions = typer.Typer(help="Electricity regions: list them, or upload their hours.", no_args_is_help=True)
    regions.command("list")(list_regions)
    regions.command("show")(show_region)
    regions.command("upload")(upload_hours)
    regions.command("remove")(remove_region)
    app.add_typer(regions, name="regions")


def list_regions(*, as_json: options.Json = False) -> None:
    """List all regions, with what is missing between their hours."""
    terminal = Terminal(as_json)
    with environment.open_client() as client:
        regions = client.regions.list_all()
    rows = [_describe(each) for each in regions]
    terminal.print_table(HEADS, rows, {"regions": [each.model_dump(mode="json") for each in regions]})


def show_region(
    region: RegionArgument,
    *,
    hours: Annotated[int, typer.Option(min=1, max=744, help="How many hours from now on.")] = 48,
    as_json: options.Json = False,
) -> None:
    """Show the hours of a region from now on; hours that are missing are unknown."""
    terminal = Terminal(as_json)
    with environment.open_client() as client:
        found = client.regions.read(region, begin=datetime.now(UTC), hours=hours)
    rows = [
        (
            f"{each.starts_at.astimezone():%Y-%m-%d %H:%M%z}",
            NONE if each.price_per_kwh is None else f"{each.price_per_kwh:.4f} {found.region.currency}",
            NONE if each.carbon_g_per_kwh is None else f"{each.carbon_g_per_kwh:.0f}",
        )
        for each in found.hours
    ]
    terminal.print_table(HOUR_HEADS, rows, found.model_dump(mode="json"))


def upload_hours(
    region: RegionArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="CSV: starts_at, price_per_kwh, carbon_g_per_kwh."
        ),
    ],
    *,
    currency: Annotated[str | None, typer.Option(help="Currency of the prices, such as EUR.")] = None,
    time_zone: Annotated[
        str | None, typer.Option(help="Time zone of times without an offset, such as Europe/Berlin.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Upload hours of a region from CSV; the key needs the scope provider.

    Columns are starts_at, price_per_kwh or price_per_mwh, and carbon_g_per_kwh. Hours of the same begin are replaced.
    Missing hours stay unknown: a copy is never planned into them. Prices may be negative.
    """
    from tradewind.grid.csv_hours import find_zone, read_hours
    from tradewind.grid.hours import check_hours

    terminal = Terminal(as_json)
    zone = options.read_if("--time-zone", find_zone, time_zone)
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            hours = check_hours(read_hours(lines, zone))
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{file} is not UTF-8 text", param_hint="FILE") from None
    with environment.open_client() as client:
        done = client.regions.upload(region, hours, currency=currency)
    gaps = "".join(
        f"; missing {gap.starts_at:%Y-%m-%d %H:%M}–{gap.ends_at:%Y-%m-%d %H:%M} UTC" for gap in done.region.gaps[-3:]
    )
    more = f" and {done.region.gap_count - 3} more gaps" if done.region.gap_count > 3 else ""
    text = f"{region}: {done.added} hours added, {done.replaced} replaced, {done.region.hours} in all{gaps}{more}"
    terminal.print_result(text, done.model_dump(mode="json"))


def remove_region(region: RegionArgument, *, as_json: options.Json = False) -> None:
    """Remove a region with its hours; the key needs the scope provider, and no endpoint may be in it."""
    with environment.open_client() as client:
        client.regions.remove(region)
    Terminal(as_json).print_result(f"{region} is removed", {"removed": region})


def _describe(region: "Region") -> tuple[str, ...]:
    def format_time(at: datetime | None) -> str:
        return NONE if at is None else f"{at:%Y-%m-%d %H:%M}"

    return (
        region.name,
        region.currency or NONE,
        str(region.hours),
        format_time(region.first_hour),
        format_time(region.last_hour),
        str(region.gap_count),
        str(region.negative_prices),
        ", ".join(region.endpoints) or NONE,
    )
