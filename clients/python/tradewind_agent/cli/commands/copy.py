"""``tradewind copy``: move files with the best parameters known."""

import signal
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.commands.copying.by_tool import CopyContext, copy_by_tool
from tradewind_agent.cli.commands.copying.packed import (
    OFF,
    PreparedPacking,
    parse_compress_option,
)
from tradewind_agent.cli.commands.copying.queue import RadioOptions, build_radio_options, copy_queue
from tradewind_agent.cli.commands.copying.start_later import CopyStart, check_start_of, plan_start
from tradewind_agent.cli.commands.copying.within_host import are_on_this_host, copy_within_host
from tradewind_agent.cli.dry_run import show_plan
from tradewind_agent.cli.engine_options import bind_headers, build_engine_options
from tradewind_agent.cli.manifest_option import check_manifest, open_manifest
from tradewind_agent.cli.option_groups import GroupOf, expand_groups
from tradewind_agent.cli.progress import count_plainly, make_snapshot_callback, show_transfer
from tradewind_agent.cli.quick_start import collect_what_comes, load_in_background, put_collections_off
from tradewind_agent.cli.removal_options import RemovalOptions, build_removal_options
from tradewind_agent.cli.resource_options import ExploreResources, LimitBothEnds
from tradewind_agent.cli.selection_options import build_selection
from tradewind_agent.cli.start_options import build_start_request
from tradewind_agent.cli.terminal import Terminal
from tradewind_agent.cli.transfer_options import TransferOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tradewind.parameters import Parameters
    from tradewind_agent.compression.planning import PackingMode
    from tradewind_agent.copy.listing import Listing
    from tradewind_agent.copy.options import CopyOptions
    from tradewind_agent.engine.options import EngineOptions
    from tradewind_agent.engine.remote.omissions import ListingRules
    from tradewind_agent.engine.remote.path_selection import PathSelection
    from tradewind_agent.grid.start_planner import StartRequest
    from tradewind_agent.service.client import Client

OWN_MOVER = "tradewind"

NEEDED_AT_THE_END = ("importlib.metadata", "tradewind_agent.copy.reporting.report")
UNDER_WAY_S = 1.0
"""Modules that a report needs, and when from the start they load: while bytes move."""


def register(app: typer.Typer) -> None:
    app.command()(copy)


def build_parameters_by_hand(
    *,
    concurrency: Annotated[int | None, typer.Option(min=1, max=32767, help="Files at once, set by hand.")] = None,
    parallelism: Annotated[int | None, typer.Option(min=1, max=32767, help="Streams a file, set by hand.")] = None,
    pipelining: Annotated[int | None, typer.Option(min=1, max=32767, help="Requests in flight, set by hand.")] = None,
    io_block: Annotated[str | None, typer.Option(metavar="SIZE", help="I/O block, set by hand, such as 1MiB.")] = None,
    part_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Parts of large uploads to an object store, set by hand.")
    ] = None,
) -> "Parameters":
    """Return the parameters that the user sets by hand."""
    from tradewind.parameters import Parameters

    return Parameters(
        concurrency=concurrency,
        parallelism=parallelism,
        pipelining=pipelining,
        io_block_bytes=options.parse_io_block_bytes_if(io_block),
        part_bytes=options.parse_part_bytes_if(part_size),
    )


def build_listing_rules(
    *,
    selection: Annotated["PathSelection", GroupOf(build_selection)],
    follow_links: Annotated[
        bool | None,
        typer.Option(
            "--follow-links/--skip-links",
            help="Send what symbolic links in a folder point to, or leave links out; otherwise each is a failure.",
            show_default=False,
        ),
    ] = None,
    skip_unreadable: Annotated[
        bool,
        typer.Option(
            "--skip-unreadable",
            help="Leave out what cannot be read or is forbidden (403); otherwise each is a failure.",
        ),
    ] = False,
) -> "ListingRules":
    """Return which files are copied, and what to do with links and unreadable files."""
    from tradewind_agent.engine.remote.omissions import LinkRule, ListingRules

    rules = {None: LinkRule.REPORT, True: LinkRule.FOLLOW, False: LinkRule.SKIP}
    return ListingRules(selection=selection, links=rules[follow_links], skip_unreadable=skip_unreadable)


def build_copy_options(
    *,
    settings: TransferOptions,
    parameters: Annotated["Parameters", GroupOf(build_parameters_by_hand)],
    resume: Annotated[bool, typer.Option(help="Go on with what an earlier run has left.")] = True,
    tune: Annotated[bool, typer.Option(help="Change the parameters while it runs; none that is set by hand.")] = True,
    patience: Annotated[
        str, typer.Option("--wait", metavar="TIME", help="How long to wait for a share of a path with caps.")
    ] = "10min",
    third_party: Annotated[
        str,
        typer.Option(
            metavar="auto|never",
            help="Have two servers move files between them where they can, or never; then this host relays them.",
        ),
    ] = "auto",
    explore_resources: ExploreResources = False,
    limit_both_ends: LimitBothEnds = False,
    rules: Annotated["ListingRules", GroupOf(build_listing_rules)],
    engine: Annotated["EngineOptions", GroupOf(build_engine_options)],
) -> "CopyOptions":
    """Return the options of the copy."""
    if third_party not in ("auto", "never"):
        raise typer.BadParameter("is auto or never", param_hint="--third-party")
    return replace(
        settings,
        by_hand=parameters,
        resume=resume,
        listing=rules,
        tune=tune,
        share_patience_s=options.parse_duration_s("--wait", patience),
        explore_resources=explore_resources,
        limit_both_ends=limit_both_ends,
        engine=replace(engine, third_party=third_party == "auto"),
    )


@expand_groups
def copy(
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SRC... DEST",
            help="What to copy, and where to: http(s):// or s3:// addresses, or paths of this host.",
        ),
    ] = None,
    *,
    settings: Annotated["CopyOptions", GroupOf(build_copy_options)],
    manifest: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="List of files below SRC to copy, instead of its index; - is stdin."),
    ] = None,
    removal: Annotated[RemovalOptions, GroupOf(build_removal_options)],
    radio: Annotated["RadioOptions", GroupOf(build_radio_options)],
    starting: Annotated["StartRequest | None", GroupOf(build_start_request)],
    mover: Annotated[
        str, typer.Option(help="Who moves the bytes: tradewind, rclone, aria2, curl or globus-url-copy.")
    ] = OWN_MOVER,
    compress: Annotated[
        str, typer.Option(metavar="auto|raw|CODEC[:LEVEL]|off", help="Pack files on their way; auto picks and adapts.")
    ] = OFF,
    meter: options.LaterMeter,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be copied, and how.")] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Copy files with recommended parameters, measure it, and log it."""
    put_collections_off()
    terminal, places, queue = Terminal(as_json, quiet), places or [], radio.queue
    mover = _choose_mover(mover, places)
    packing = parse_compress_option(compress)
    stays_here = queue is None and mover == OWN_MOVER and are_on_this_host(places, manifest)
    _check_packing(packing, mover, stays_here=stays_here)
    _check_exploring(settings, mover, is_alone=queue is None and not stays_here)
    check_start_of(starting, mover, OWN_MOVER, is_alone=queue is None and not stays_here)
    removal.check(dry_run=dry_run, is_queue=queue is not None)
    settings = replace(settings, listing=replace(settings.listing, delete=removal.delete))
    if queue is not None:
        _check_alone(places, manifest, mover)
    else:
        _check_places(places, manifest, mover)
        settings = replace(settings, engine=bind_headers(settings.engine, places))
    _end_cleanly_when_stopped()
    with ExitStack() as closing:
        listing, start, client = None, CopyStart(starting), None
        manifest = closing.enter_context(open_manifest(manifest))
        if starting is not None and starting.waits:
            client = _open_client(closing)
            find_files = partial(_list_files, places, manifest, settings, terminal)
            start, settings = plan_start(starting, find_files, settings, client, terminal, dry_run=dry_run)
        if queue is None and mover == OWN_MOVER and not stays_here:
            settings = settings if dry_run else closing.enter_context(settings.connect_early())
            listing = _list_files(places, manifest, settings, terminal)
            _warn_about_download(listing, settings, terminal)
            if packing is not None and listing.receiver is not None:
                raise typer.BadParameter("one end must be this host, where files are packed", param_hint="--compress")
        client = client or _open_client(closing)
        context = radio.add_radio(CopyContext(terminal, client, meter()))
        if queue is not None:
            code = copy_queue(queue, settings, context, packing, dry_run=dry_run)
        elif stays_here:
            code = copy_within_host(places, settings, terminal, client, removal, dry_run=dry_run)
        elif listing is None:
            code = copy_by_tool(mover, places, settings, context, manifest=manifest, dry_run=dry_run)
        else:
            if not dry_run:
                removal.confirm(listing.removal)
            code = _copy_listed(listing, settings, context, packing, start, dry_run=dry_run)
    raise typer.Exit(code)


def _open_client(closing: ExitStack) -> "Client | None":
    from tradewind_agent.service.retries import BRIEF_RETRIES

    client = environment.open_client_if_configured(BRIEF_RETRIES)
    return None if client is None else closing.enter_context(client)


def _check_packing(packing: "PackingMode | None", mover: str, *, stays_here: bool) -> None:
    """Refuse to pack files that another mover sends, or that are sent nowhere."""
    if packing is None:
        return
    if mover != OWN_MOVER:
        reason = f"{mover} does not pack files on their way; {OWN_MOVER} alone does"
        raise typer.BadParameter(reason, param_hint="--compress")
    if stays_here:
        raise typer.BadParameter("packs files on their way to or from a server", param_hint="--compress")


def _check_exploring(settings: "CopyOptions", mover: str, *, is_alone: bool) -> None:
    """Refuse to try cores where nobody would learn from that: copies of a queue share the cores of this process."""
    if settings.explore_resources and (mover != OWN_MOVER or not is_alone):
        reason = "tries cores in single copies by tradewind from or to a server"
        raise typer.BadParameter(reason, param_hint="--explore-resources")


def _choose_mover(mover: str, places: "Sequence[str]") -> str:
    """Return the mover of the copy: rclone for addresses that tradewind does not speak, unless the user names one."""
    from tradewind_agent.movers.schemes import find_other_scheme

    return mover if mover != OWN_MOVER or find_other_scheme(places) is None else "rclone"


def _warn_about_download(listing: "Listing", settings: "CopyOptions", terminal: Terminal) -> None:
    """Note that a download is sent as its server chooses, if the user has set a congestion control here."""
    from tradewind.transfer import Direction

    if settings.engine.congestion_control is not None and listing.direction is Direction.DOWNLOAD:
        terminal.note(
            "--congestion-control applies to uploads; for downloads, give the option to the server's serve-files"
        )


def _copy_listed(
    listing: "Listing",
    settings: "CopyOptions",
    context: CopyContext,
    packing: "PackingMode | None",
    start: CopyStart,
    *,
    dry_run: bool,
) -> int:
    """Copy with the agent's own engine, report the result, and return the exit code."""
    from tradewind.transfer import Status
    from tradewind_agent.copy.run import prepare_listed, run
    from tradewind_agent.session.logbook import Logbook

    terminal, client = context.terminal, context.client
    packed = None if packing is None else PreparedPacking(listing, packing, settings, context)
    prepared = prepare_listed(listing, options=settings, client=client) if packed is None else packed.prepared
    if dry_run:
        show_plan(terminal, prepared, () if packed is None else packed.notes, start.planned)
        is_hindered = listing.removal is not None and listing.removal.obstacle is not None
        return 1 if listing.left_out or is_hindered else 0
    logbook = Logbook(spool=environment.open_spool(terminal), client=client)
    for line in () if packed is None else packed.notes:
        terminal.note(line)
    say = None if terminal.quiet else terminal.note
    collect_what_comes()
    with show_transfer(terminal) as show, load_in_background(*NEEDED_AT_THE_END, after_s=UNDER_WAY_S):
        on_snapshot = show and make_snapshot_callback(show)
        if packed is None:
            report = run(
                prepared, client=client, logbook=logbook, meter=context.meter, on_snapshot=on_snapshot, say=say
            )
        else:
            report = packed.run(logbook, on_snapshot=on_snapshot, say=say, metered=True)
    report = start.add_report(report, client)
    for line in (*report.notes, *report.list_further_failures()):
        terminal.note(line)
    terminal.print_result(report.format_line(), report.build_document())
    if report.is_complete:
        return 0
    return 128 + signal.SIGINT if report.status is Status.CANCELLED else 1


def _list_files(places: list[str], manifest: str | None, settings: "CopyOptions", terminal: Terminal) -> "Listing":
    """List the files to copy; modules that the copy needs later load while the server answers."""
    from tradewind_agent.copy.listing import list_files

    with load_in_background("tradewind_agent.copy.run", *environment.list_client_modules()):
        return list_files(
            places[:-1],
            places[-1],
            manifest=manifest,
            options=settings.engine,
            rules=settings.listing,
            ask_for_meter=True,
            on_folders=count_plainly(terminal, "listing", "folder"),
        )


def _check_alone(places: list[str], manifest: str | None, mover: str) -> None:
    """Refuse arguments that belong in the queue's file, and other movers."""
    if places:
        raise typer.BadParameter("belong in the file of --batch", param_hint="SRC... DEST")
    if manifest is not None:
        raise typer.BadParameter("belongs in the file of --batch", param_hint="--manifest")
    if mover != OWN_MOVER:
        raise typer.BadParameter("--batch only copies with tradewind itself", param_hint="--mover")


def _end_cleanly_when_stopped() -> None:
    """Handle SIGTERM and SIGHUP as Ctrl-C, so that they end a copy cleanly, too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script's job in the background, which SIGTERM still ends
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


def _check_places(places: list[str], manifest: str | None, mover: str) -> None:
    """Refuse places that cannot be right; a local path has no scheme."""
    from tradewind_agent.errors import UnusableSource
    from tradewind_agent.movers.schemes import find_other_scheme
    from tradewind_agent.stores.places import check_address

    if len(places) < 2 and manifest is None:
        raise typer.BadParameter("needs at least one source and a destination", param_hint="SRC... DEST")
    if not all(place.strip() for place in places):
        raise typer.BadParameter("has an empty place; is a variable of your script not set?", param_hint="SRC... DEST")
    if manifest is not None:
        check_manifest(manifest)
    if mover == "globus-url-copy" or find_other_scheme(places) is not None:
        return  # the mover has schemes of its own
    for place in places:
        scheme, separator, _ = place.partition("://")
        if not separator or scheme.lower() == "file" or not scheme.isalnum():
            continue
        try:
            check_address(place)
        except UnusableSource as wrong:
            raise typer.BadParameter(str(wrong), param_hint="SRC... DEST") from None
