"""A copy by another tool: the same sources and destination, as that tool's command line.

The agent lists the files, as for its own engine, and hands them over as a list in the tool's format.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tradewind.errors import InvalidValue
from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.copy.listing_checks import check_properties
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.plan import MOVER
from tradewind_agent.copy.reporting.omissions_report import describe_excluded
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.local.local_files import reject_special_file
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.movers.addresses import parse_address
from tradewind_agent.movers.command_line import CommandLine
from tradewind_agent.movers.curl.file_list import CurlFile, quote_value
from tradewind_agent.movers.curl.mover import CurlMover
from tradewind_agent.movers.port import Mover, ToolTask, Workload
from tradewind_agent.movers.rclone.addresses import make_rclone_line
from tradewind_agent.movers.rclone.mover import ListedFile, RcloneMover
from tradewind_agent.movers.registry import InstalledTool, find_installed, list_movers
from tradewind_agent.movers.schemes import find_other_scheme
from tradewind_agent.movers.url_sizes import parse_local_path
from tradewind_agent.movers.wrap.prepare import PreparedWrap, WrapOptions, prepare_task
from tradewind_agent.service.client import Client
from tradewind_agent.stores.s3.address import SCHEME

MAX_SHOWN_OMISSIONS = 10
"""Omissions that are named one by one."""

_TOOLS = ("rclone", "aria2", "curl", "globus-url-copy")
"""Tools that a copy may be done by; others are wrapped only."""

_BY_GLOBUS = ("gsiftp", "sshftp", "ftp", "file")


def list_copy_movers() -> tuple[str, ...]:
    """Return the names that a copy may be done by, our own engine's last."""
    return (*_TOOLS, MOVER)


def prepare_copy_by(
    name: str,
    places: Sequence[str],
    *,
    options: WrapOptions,
    environment: Mapping[str, str],
    folder: Path,
    client: Client | None = None,
    manifest: str | None = None,
) -> PreparedWrap:
    """Return what ``name`` would do to copy all but the last of ``places`` to the last.

    Parameters
    ----------
    folder : for lists of files; must be there until the run is over.

    Raises
    ------
    InvalidValue : an unknown tool, or a copy that it cannot do.
    ToolUnusable : the tool is missing or too old.
    FileFault : a device, pipe or folder stands where a file should go.
    """
    _reject_own_options(name, options.copy)
    mover = next((each for each in list_movers() if each.name == name in _TOOLS), None)
    if mover is None:
        raise InvalidValue("--mover", f"is one of {', '.join(list_copy_movers())}; got {name!r}")
    if name != "globus-url-copy" and (scheme := find_other_scheme(places)) is not None:
        if name != "rclone":
            raise InvalidValue("--mover", f"{name} is not driven for {scheme}://; leave it out")
        installed, line = make_rclone_line(places, options.copy, environment, manifest=manifest)
        prepared = prepare_task(installed, mover.parse_task(line), options, client)
        return replace(prepared, notes=(f"{scheme}:// is copied by rclone", *prepared.notes))
    installed = find_installed(mover, mover.programs[0], environment)
    task: ToolTask
    if name == "globus-url-copy":
        if not options.copy.listing.selection.is_all:
            raise InvalidValue("--mover", f"{name} selects no files; leave out --include and --exclude, or --mover")
        task = mover.parse_task(_make_globus_line(installed, places, environment))
        return prepare_task(installed, task, options, client)
    if any(place.lower().startswith(SCHEME) for place in places):
        raise InvalidValue("--mover", f"{name} gets no credentials for {SCHEME} addresses here; leave it out")
    listing = list_files(
        places[:-1], places[-1], manifest=manifest, options=options.copy.engine, rules=options.copy.listing
    )
    jobs = _require_downloads(name, listing)
    workload = Workload(tuple(listing.sizes_bytes), listing.sizes_are_exact)
    line = CommandLine(installed.program, (), environment)
    sized, destination = list(zip(jobs, workload.sizes_bytes, strict=True)), Path(str(parse_local_path(places[-1])))
    task = _build_web_task(mover, line, sized, destination=destination, folder=folder)
    prepared = prepare_task(installed, task, replace(options, workload=workload), client)
    omissions = tuple(f"left out: {each.place} {each.reason}" for each in listing.left_out[:MAX_SHOWN_OMISSIONS])
    if len(listing.left_out) > MAX_SHOWN_OMISSIONS:
        omissions = (*omissions, f"left out: {len(listing.left_out) - MAX_SHOWN_OMISSIONS} more")
    excluded = () if listing.excluded is None else (describe_excluded(listing.excluded),)
    return replace(prepared, notes=(*prepared.notes, *excluded, *omissions), left_out=listing.left_out)


def _build_web_task(
    mover: Mover, line: CommandLine, sized: Sequence[tuple[DownloadJob, int]], *, destination: Path, folder: Path
) -> ToolTask:
    """Return the task of fetching files from web servers; ``line`` : the program, without words."""
    jobs = [job for job, _ in sized]
    if isinstance(mover, RcloneMover):
        base, paths = _find_common_address(jobs, root := _find_root(jobs, destination))
        words = ("copy", "--http-url", base, ":http:", str(root))
        files = tuple(ListedFile(path, size) for path, (_, size) in zip(paths, sized, strict=True))
        return mover.build_task_of_files(replace(line, arguments=words), files)
    if isinstance(mover, CurlMover):
        options = ("--silent", "--show-error", "--fail", "--location", "--create-dirs", "--netrc-optional")
        pairs = tuple(
            CurlFile(str(job.source), Path(job.destination), size, f"output = {quote_value(job.destination)}")
            for job, size in sized
        )
        return mover.build_task_of_pairs(replace(line, arguments=options), pairs)
    return mover.parse_task(replace(line, arguments=_make_aria2_arguments(jobs, folder, _find_root(jobs, destination))))


def _reject_own_options(name: str, options: CopyOptions) -> None:
    """Refuse options that other tools do not have.

    Raises
    ------
    InvalidValue
    """
    given = {"--delete": options.listing.delete, "--skip": options.engine.skip is not SkipRule.SAME}
    check_properties(options.engine.properties, is_taken=False)
    if option := next((option for option, is_given in given.items() if is_given), None):
        raise InvalidValue(option, f"is not for {name}; leave out --mover")


def _require_downloads(name: str, listing: Listing) -> list[DownloadJob]:
    jobs = [job for job in listing.jobs if isinstance(job, DownloadJob)]
    if len(jobs) < len(listing.jobs):
        raise InvalidValue("--mover", f"{name} is driven for downloads; uploads are done by {MOVER}")
    if any(job.source.login for job in jobs):
        raise InvalidValue("--mover", f"a password in an address is for {MOVER}; tell {name} of it in its own way")
    for job in jobs:
        _require_listable(Path(job.destination), name)
        reject_special_file(job.destination)
    return jobs


def _require_listable(destination: Path, name: str) -> None:
    """Refuse names that a list of files cannot hold: it has a name a line, and aria2 trims names.

    Raises
    ------
    InvalidValue
    """
    trimmed = (str(destination.parent), destination.name) if name == "aria2" else ()
    if any(each < " " for each in str(destination)) or any(each != each.strip() for each in trimmed):
        raise InvalidValue(
            "--mover", f"{name} cannot be given the name {str(destination)!r}; such names are for {MOVER}"
        )


def _make_aria2_arguments(jobs: Sequence[DownloadJob], folder: Path, root: Path) -> tuple[str, ...]:
    listed = folder / "addresses"
    places = ((job.source, Path(job.destination)) for job in jobs)
    entries = (f"{source}\n  dir={place.parent}\n  out={place.name}\n" for source, place in places)
    listed.write_text("".join(entries), encoding="utf-8")
    return (f"--input-file={listed}", f"--dir={root}", "--allow-overwrite=true", "--auto-file-renaming=false")


def _find_root(jobs: Sequence[DownloadJob], destination: Path) -> Path:
    """Return the folder that is filled: the parent of the destination where that is the one file's own name."""
    return destination.parent if [Path(job.destination) for job in jobs] == [destination] else destination


def _find_common_address(jobs: Sequence[DownloadJob], root: Path) -> tuple[str, list[str]]:
    """Return the address that all files are below, and the paths that they have there as well as below ``root``."""
    paths = [Path(job.destination).relative_to(root).as_posix() for job in jobs]
    bases = set()
    for job, path in zip(jobs, paths, strict=True):
        address = urlsplit(str(job.source))
        if address.query or not unquote(address.path).endswith("/" + path):
            raise InvalidValue("--mover", f"rclone keeps names: it cannot make {job.destination} of {job.source}")
        base_parts = address.path.split("/")[: -len(path.split("/"))]
        bases.add(f"{address.scheme}://{address.netloc}{'/'.join(base_parts)}/")
    if len(bases) > 1:
        raise InvalidValue("--mover", "rclone copies from one folder at a time; name one source")
    return bases.pop(), paths


def _make_globus_line(installed: InstalledTool, places: Sequence[str], environment: Mapping[str, str]) -> CommandLine:
    if len(places) != 2:
        raise InvalidValue("--mover", "globus-url-copy copies one source at a time")
    for place in places:
        address = parse_address(place)
        scheme = address.scheme if "://" in place else "file"
        if scheme not in _BY_GLOBUS:
            schemes = ", ".join(f"{each}://" for each in _BY_GLOBUS)
            raise InvalidValue("--mover", f"globus-url-copy is driven between {schemes} and local paths; got {place}")
        if scheme != "file" and address.host is None:
            raise InvalidValue("--mover", f"{place} names no host, or no possible port, for globus-url-copy")
    source, destination = (place if "://" in place else Path(place).absolute().as_uri() for place in places)
    if source.endswith("/"):
        destination = destination.rstrip("/") + "/"
    recursive = ("-r",) if source.endswith("/") else ()
    return CommandLine(installed.program, ("-cd", *recursive, source, destination), environment)
