"""The state of a file on the local disk before its transfer starts."""

import os
from enum import Enum

from tradewind_agent.engine.http.retry import parse_http_date
from tradewind_agent.engine.jobs import DownloadJob, SizeTrust
from tradewind_agent.engine.local.checksums import Checksum, compute_checksum
from tradewind_agent.engine.local.folder_names import FolderNames
from tradewind_agent.engine.local.identity import FileIdentity, states_time
from tradewind_agent.engine.local.local_files import reject_special_file
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.engine.skipping import SkipRule


class LocalState(Enum):
    STAYS = "there, and not to be touched"
    CURRENT = "complete, and the listing proves that it is the version on the server"
    PRESENT = "there under its final name; the server must say which version it has"
    RECEIVED = "received in full by an earlier run but not yet named; the server must say which version it has"


def inspect_local_copy(
    job: DownloadJob,
    listed: FileIdentity,
    part: PartFile,
    names: FolderNames | None = None,
    *,
    rule: SkipRule = SkipRule.SAME,
) -> tuple[LocalState | None, RangeSet, FileIdentity]:
    """Return the state of the local file (``None``: absent or partial), the received ranges, and their version.

    A part of another version than the listed one is thrown away, and so is a part of unknown version.
    The part stays locked for this run. ``names`` : of the folders of the copy, which save looking.
    ``rule`` : by which files stay.

    Raises
    ------
    FileFault : the file cannot be written: something that is no file stands there, or another run is writing it.
    """
    nothing = RangeSet()
    if names is not None and not part.may_be_there(names):
        return None, nothing, FileIdentity()
    reject_special_file(job.destination)
    found = _find_file(job.destination)
    is_link_to_nothing = found is None and os.path.islink(job.destination)
    if _stays(job, found, rule) or (is_link_to_nothing and rule is SkipRule.EXISTING):
        return LocalState.STAYS, nothing, FileIdentity()
    only_server_knows = found is not None and rule is SkipRule.NEWER and job.modified_at is None
    if (left := part.resume()) is not None:
        identity, received = left
        if not listed.contradicts(identity):
            full = identity.size_bytes is not None and received.covers(identity.size_bytes)
            state = LocalState.PRESENT if only_server_knows else LocalState.RECEIVED if full else None
            return state, received, identity
        part.discard()
    if found is None or only_server_knows:
        return (None if found is None else LocalState.PRESENT), nothing, FileIdentity()
    if job.size_trust is not SizeTrust.ROUNDED and job.size_bytes not in (None, found.st_size):
        return None, nothing, FileIdentity()
    proven = (
        job.size_bytes == found.st_size
        and job.size_trust is not SizeTrust.ROUNDED
        and job.modified_at is not None
        and states_time(job.modified_at.timestamp())
        and int(job.modified_at.timestamp()) == int(found.st_mtime)
    )
    return (LocalState.CURRENT if proven else LocalState.PRESENT), nothing, FileIdentity()


def _find_file(destination: str) -> os.stat_result | None:
    try:
        return os.stat(destination)
    except OSError:
        return None


def _stays(job: DownloadJob, found: os.stat_result | None, rule: SkipRule) -> bool:
    """Return whether a local file stays, whatever the server has."""
    if found is None:
        return False
    is_not_older = job.modified_at is not None and int(found.st_mtime) >= int(job.modified_at.timestamp())
    return rule is SkipRule.EXISTING or (rule is SkipRule.NEWER and is_not_older)


def is_not_older(job: DownloadJob, on_server: FileIdentity) -> bool:
    """Return whether the local file is not older than the server's; false where the server states no time."""
    found, modified = _find_file(job.destination), parse_http_date(on_server.last_modified or "")
    return found is not None and modified is not None and int(found.st_mtime) >= int(modified.timestamp())


def matches_remote(job: DownloadJob, on_server: FileIdentity, *, at_any_time: bool = False) -> bool:
    """Return whether the local file has the server's size and, unless ``at_any_time``, its modification time."""
    found = _find_file(job.destination)
    if found is None:
        return False
    modified = parse_http_date(on_server.last_modified or "")
    same_time = modified is not None and int(found.st_mtime) == int(modified.timestamp())
    return (same_time or at_any_time) and found.st_size == on_server.size_bytes


def has_checksum(job: DownloadJob, expected: Checksum) -> bool:
    """Return whether the bytes of the local file have this sum; reads all of it."""
    try:
        return compute_checksum(job.destination, expected.algorithm) == expected
    except OSError:
        return False
