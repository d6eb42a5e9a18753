"""The files of a copy within this host, and which of them are there already."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind_agent.copy.listing_checks import make_empty_failure, require_one_folder
from tradewind_agent.copy.removal import PlannedRemoval, plan_local_removal
from tradewind_agent.engine.local.checksums import compute_checksum
from tradewind_agent.engine.local.local_tree import list_tree
from tradewind_agent.engine.remote.omissions import ListingRules, Omission, OmissionKind
from tradewind_agent.engine.remote.path_selection import Excluded, Selecting
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.errors import UnusableSource
from tradewind_agent.system_errors import explain_os_error

_COMPARED_SUM = "sha256"
_TIME_STEPS_NS = (1, 100, 1_000, 1_000_000, 10_000_000, 1_000_000_000)
"""Steps of the times that file systems store: ext4 and XFS, NTFS, those of networks, exFAT, older ones."""


@dataclass(frozen=True, slots=True)
class LocalJob:
    """A file to copy, with its state when it was listed."""

    source: Path
    destination: Path
    found: os.stat_result = field(repr=False)

    def __str__(self) -> str:
        return str(self.source)


class LocalDecision(Enum):
    """What becomes of a file."""

    STAYS = "it is there already"
    COPIED = "it is copied"
    REFUSED = "both names are those of one file"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalListing:
    """The files of a copy within this host.

    ``left_out``, ``accepted``, ``excluded``, ``removal`` : as `Listing` of other copies has them.
    """

    jobs: Sequence[LocalJob]
    left_out: tuple[Omission, ...] = ()
    accepted: tuple[Omission, ...] = ()
    excluded: Excluded | None = None
    removal: PlannedRemoval | None = None

    @property
    def total_bytes(self) -> int:
        return sum(job.found.st_size for job in self.jobs)


def list_local_files(sources: Sequence[Path], destination: str, rules: ListingRules) -> LocalListing:
    """List the files below ``sources``; what a folder holds goes below ``destination``.

    ``destination`` is the new name of a single file, unless it ends with a slash or is a folder.

    Raises
    ------
    InvalidValue, CopyFailed, UnusableSource : sources and destination do not go together, or nothing can be listed.
    """
    target = Path(destination)
    is_folder = destination.endswith("/") or len(sources) > 1 or target.is_dir()
    if rules.delete:
        require_one_folder(sources, None, is_folder=sources[0].is_dir())
        if sources[0].resolve().is_relative_to(target.resolve()):
            raise InvalidValue("--delete", f"would remove the source, which is within {target}")
    selecting, omissions = Selecting(rules.selection), list[Omission]()
    jobs: dict[Path, LocalJob] = {}
    for source in sources:
        for found in _list_below(source, target, is_folder=is_folder, rules=rules, selecting=selecting):
            if isinstance(found, Omission):
                omissions.append(found)
            elif (first := jobs.setdefault(found.destination, found)).source != found.source:
                raise UnusableSource(f"{first} and {found} would both become {found.destination}")
    accepted = tuple(each for each in omissions if rules.is_accepted(each))
    left_out = tuple(each for each in omissions if each not in accepted)
    if not jobs and not omissions:
        raise make_empty_failure(selecting.excluded)
    removal = None
    if rules.delete:
        begin = len(str(target / "x")) - 1
        obstacle = f"{omissions[0].place} {omissions[0].reason}" if omissions else None
        below = [str(place)[begin:] for place in jobs]
        removal = plan_local_removal(str(target), below, rules.selection, obstacle)
    return LocalListing(
        jobs=tuple(jobs.values()),
        left_out=left_out,
        accepted=accepted,
        excluded=None if rules.selection.is_all else selecting.excluded,
        removal=removal,
    )


def _list_below(
    source: Path, target: Path, *, is_folder: bool, rules: ListingRules, selecting: Selecting
) -> Iterator[LocalJob | Omission]:
    if source.is_dir():
        if target.resolve().is_relative_to(source.resolve()):
            raise UnusableSource(f"{target} is within {source}, which would be copied into itself")
        for found in list_tree(source, rules.links, selecting):
            yield found if isinstance(found, Omission) else _make_job(found, target / found.relative_to(source))
    elif source.is_file():
        if selecting.take_file(source.name):
            yield _make_job(source, target / source.name if is_folder else target)
    elif source.exists():
        raise UnusableSource(f"{source} is neither a file nor a folder")
    else:
        raise UnusableSource(f"{source} does not exist")


def _make_job(source: Path, destination: Path) -> LocalJob | Omission:
    try:
        return LocalJob(source, destination, source.stat())
    except OSError as failure:  # gone since it was listed
        return Omission(str(source), f"cannot be read: {explain_os_error(failure)}", OmissionKind.UNREADABLE)


def decide(job: LocalJob, rule: SkipRule, *, compares_bytes: bool) -> LocalDecision:
    """Return what becomes of a file; ``compares_bytes`` : size and time do not suffice to call it the same.

    Raises
    ------
    OSError : one of the files cannot be read.
    """
    try:
        there = job.destination.stat()
    except (FileNotFoundError, NotADirectoryError):
        return LocalDecision.COPIED
    if (there.st_dev, there.st_ino) == (job.found.st_dev, job.found.st_ino):
        return LocalDecision.REFUSED
    if rule is SkipRule.EXISTING or (rule is SkipRule.NEWER and there.st_mtime_ns >= job.found.st_mtime_ns):
        return LocalDecision.STAYS
    if there.st_size != job.found.st_size:
        return LocalDecision.COPIED
    if compares_bytes:
        sums = (compute_checksum(str(each), _COMPARED_SUM) for each in (job.source, job.destination))
        return LocalDecision.STAYS if next(sums) == next(sums) else LocalDecision.COPIED
    is_same = _is_same_time(there.st_mtime_ns, job.found.st_mtime_ns)
    return LocalDecision.STAYS if is_same else LocalDecision.COPIED


def _is_same_time(there_ns: int, source_ns: int) -> bool:
    """Return whether a file has the time of its source, as exactly as its file system stores times."""
    return any(there_ns % each == 0 and there_ns // each == source_ns // each for each in _TIME_STEPS_NS)


def list_copied(listing: LocalListing, rule: SkipRule, *, compares_bytes: bool) -> list[LocalJob]:
    """Return the files that a copy would not leave as they are; of one that cannot be read, the copy says why."""

    def is_copied(job: LocalJob) -> bool:
        try:
            return decide(job, rule, compares_bytes=compares_bytes) is not LocalDecision.STAYS
        except OSError:
            return True

    return [job for job in listing.jobs if is_copied(job)]
