"""A bucket of an object store, as copies see it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import RelayJob, UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.index_page import check_segment
from tradewind_agent.engine.remote.path_selection import Selecting
from tradewind_agent.engine.remote.remote_tree import OnFolders
from tradewind_agent.engine.remote.source import DownloadList
from tradewind_agent.engine.skipping import CLOCKS_DIFFER_S, SkipRule, StoredFile
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.port import ListRequest, RemovalProgress, StoredRequest
from tradewind_agent.stores.s3.address import S3Address, build_bucket_url
from tradewind_agent.stores.s3.bucket_listing import BucketListing
from tradewind_agent.stores.s3.bucket_pages import Restoration, StoredObject, StoredObjects
from tradewind_agent.stores.s3.key_search import find_objects
from tradewind_agent.stores.s3.object_jobs import ObjectJobs
from tradewind_agent.stores.s3.object_removal import remove_objects
from tradewind_agent.stores.s3.object_source import ObjectSource, unescape_key
from tradewind_agent.stores.s3.refusals import StoreRefused
from tradewind_agent.stores.s3.sending.object_receiver import ObjectReceiver
from tradewind_agent.stores.s3.sending.object_upload import ObjectUpload
from tradewind_agent.stores.s3.session import StoreSession
from tradewind_agent.stores.s3.signer import SignerV4

_ARCHIVED = frozenset({"GLACIER", "DEEP_ARCHIVE"})
"""Classes whose objects must be restored before they can be read, which takes hours."""

Answer = TypeVar("Answer")

_RESTORE = "`aws s3api restore-object`"


class S3Store:
    """One bucket.

    Attributes
    ----------
    url : where it is requested; it ends with a slash.
    """

    kind = "s3"
    takes_properties = True
    ignores_case = False

    def __init__(self, bucket: str, session: StoreSession, options: EngineOptions) -> None:
        self.bucket = bucket
        self._session = session
        self._options = options
        self._enter_region(session.region)

    def _enter_region(self, region: str) -> None:
        """Request the bucket in a region from now on."""
        self._region = region
        self.url = build_bucket_url(self.bucket, self._session.endpoint_url, region)
        self._options.hooks.add_uploads(self.url.origin, self.make_upload)
        ObjectSource.add_bucket(self._options.hooks, self.url, self.bucket, self._session)
        if self._session.get_key is not None:
            self._options.hooks.add_signer(self.url.origin, SignerV4(self._session, region))

    @property
    def alias(self) -> tuple[str, str]:
        return str(self.url), str(S3Address(self.bucket, ""))

    def find_url(self, key: str) -> Url:
        """Return where an object is requested."""
        return self.url.join_path(key)

    def find_key(self, url: Url) -> str:
        """Return the key of an address of this bucket."""
        return unescape_key(url, self.url)

    async def list_downloads(self, sources: Sequence[Url], request: ListRequest) -> DownloadList:
        """List objects to fetch: a key that ends with a slash is a folder, another an object, or a folder if none is.

        Raises
        ------
        UnusableSource : the bucket cannot be listed, or holds nothing of that name.
        """
        keys = [self.find_key(source) for source in sources]  # before the region may change the addresses
        destination = request.destination
        is_folder = request.into_folder or len(keys) > 1 or destination.is_dir()  # one stat

        selecting = Selecting(request.selection)
        found = [await self._find(key, request, selecting) for key in keys]
        archived = await _find_archived(found, self._open_listing(request))
        chosen = ObjectJobs(self.bucket, self.find_url, archived, selecting, keeps_keys=request.keeps_keys)
        for each in found:
            if each.is_object:
                name = check_segment(each.prefix.rpartition("/")[2], S3Address(self.bucket, each.prefix))
                if selecting.take_file(name):
                    chosen.add_object(each.objects[0], str(destination / name if is_folder else destination))
            else:
                chosen.add_folder(each.objects, each.prefix, destination)
        is_one_folder = len(found) == 1 and not found[0].is_object
        return DownloadList(chosen.jobs, tuple(chosen.omissions), selecting.excluded, is_one_folder)

    async def prepare_downloads(self, folder: Url, options: EngineOptions) -> Url:
        """Return where objects below a prefix are requested, in the region of the bucket.

        Raises
        ------
        UnusableSource : there is no such bucket.
        """
        key = self.find_key(folder)
        try:
            await self._ask(_list_for(options), lambda listing: listing.find(key))
        except StoreRefused as refusal:
            if not refusal.may_not:  # who may not list may still be allowed to read or to send
                raise
        return self.find_url(key)

    async def prepare_uploads(self, destination: Url, options: EngineOptions) -> Url:
        """Return where files are sent, in the region of the bucket.

        Raises
        ------
        UnusableSource : there is no such bucket.
        """
        place = await self.prepare_downloads(destination, options)
        options.hooks.add_receiver(self.url.origin, ObjectReceiver(self.url, self.find_key, self._session))
        return place

    async def find_stored(
        self, jobs: Sequence[UploadJob | RelayJob], request: StoredRequest
    ) -> Sequence[StoredFile | None]:
        """Return the objects that have the keys of the jobs; empty values where the bucket may not be listed.

        Raises
        ------
        UnusableSource : the bucket may not be listed, and the rule by which files are skipped needs that.
        """
        keys = [self.find_key(job.destination) for job in jobs]
        listing = self._open_listing(_list_for(request.options, request.on_folders))
        try:
            found = {each.key: each for each in await find_objects(listing, keys)}
        except StoreRefused as refusal:
            if not refusal.may_not or request.options.skip is not SkipRule.SAME:
                raise
            return [StoredFile()] * len(jobs)
        return [
            _describe_stored(found.get(key), listing.clock_offset_s, is_from_here=isinstance(job, UploadJob))
            for job, key in zip(jobs, keys, strict=True)
        ]

    async def list_paths(
        self, folder: Url, options: EngineOptions, selecting: Selecting, on_folders: OnFolders
    ) -> Sequence[str]:
        """Return the paths of all selected objects below a prefix, without those that stand for folders.

        Raises
        ------
        UnusableSource : the bucket cannot be listed.
        """
        prefix = self.find_key(folder)

        def take_folder(key: str) -> bool:
            return selecting.take_folder(key.removeprefix(prefix).rstrip("/"))

        found = await self._open_listing(_list_for(options, on_folders)).list(prefix, take_folder)
        paths = (each.key.removeprefix(prefix) for each in found if each.size_bytes or not each.key.endswith("/"))
        return [path for path in paths if path and selecting.take_file(path)]

    async def remove_paths(
        self, folder: Url, paths: Sequence[str], options: EngineOptions, progress: RemovalProgress
    ) -> None:
        """Remove objects below a prefix."""
        prefix = self.find_key(folder)
        listing = self._open_listing(_list_for(options))
        keys = {prefix + path: path for path in paths}
        await remove_objects(listing, keys, progress, sends_sums=self._session.sends_sums)

    def make_upload(self, job: UploadJob, host: TransferHost) -> ObjectUpload:
        """Return the upload of one file."""
        key = self.find_key(job.destination)
        return ObjectUpload(job, host, self.url, key, sends_sums=self._session.sends_sums)

    async def _find(self, key: str, request: ListRequest, selecting: Selecting) -> "_Found":
        """Return what a key names."""
        try:
            return await self._ask(request, lambda listing: self._list(key, listing, selecting))
        except StoreRefused as refusal:
            if refusal.may_not and key and not key.endswith("/"):  # which may be read without being listed
                return _Found(key, StoredObjects([StoredObject(key, None, None, None, "")]), is_object=True)
            raise

    async def _ask(self, request: ListRequest, question: Callable[[BucketListing], Awaitable[Answer]]) -> Answer:
        """Ask the bucket, a second time where the store says that it is in another region."""
        try:
            return await question(self._open_listing(request))
        except StoreRefused as refusal:
            if refusal.region in (None, self._region):
                raise
            self._enter_region(refusal.region)
        return await question(self._open_listing(request))

    def _open_listing(self, request: ListRequest) -> BucketListing:
        return BucketListing(self.bucket, self.url, request, states_restoration=self._session.is_aws)

    async def _list(self, key: str, listing: BucketListing, selecting: Selecting) -> "_Found":
        is_folder = not key or key.endswith("/")
        if not is_folder and (found := await listing.find(key)) is not None:
            return _Found(key, StoredObjects([found]), is_object=True)
        prefix = key if is_folder else f"{key}/"

        def take_folder(folder: str) -> bool:
            return selecting.take_folder(folder.removeprefix(prefix).rstrip("/"))

        below = await listing.list(prefix, take_folder)
        if not below and key and not selecting.excluded.folders:
            await self._refuse_missing(key, listing)
        return _Found(prefix, below, is_object=False)

    async def _refuse_missing(self, key: str, listing: BucketListing) -> None:
        """Refuse a key that names nothing; a prefix without objects that is not the name of one is just empty.

        Raises
        ------
        UnusableSource
        """
        place = S3Address(self.bucket, key)
        if not key.endswith("/"):
            raise UnusableSource(f"{place}: there is no such object, and none below it")
        if (name := key.rstrip("/")) and await listing.find(name) is not None:
            raise UnusableSource(f"{place} is an object, not a folder; write {S3Address(self.bucket, name)}")


def _list_for(options: EngineOptions, on_folders: OnFolders = lambda _: None) -> ListRequest:
    """Return the request of a listing that becomes no files here."""
    return ListRequest(destination=Path(), options=options, on_folders=on_folders)


def _describe_stored(
    found: StoredObject | None, clock_offset_s: float, *, is_from_here: bool = False
) -> StoredFile | None:
    """Return what is known of an object.

    ``is_from_here`` : its time is compared with that of a file of this host. Where the clock of the store is before
    this host's by more than clocks may differ, the object would seem younger than the file by as much.
    """
    if found is None:
        return None
    modified_at = found.modified_at
    if is_from_here and modified_at is not None and clock_offset_s > CLOCKS_DIFFER_S:
        modified_at, clock_offset_s = modified_at - timedelta(seconds=clock_offset_s), 0.0
    return StoredFile(
        size_bytes=found.size_bytes,
        modified_at=modified_at,
        content_tag=found.etag,
        clock_offset_s=clock_offset_s,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What a source names: an object, or those below a prefix."""

    prefix: str
    objects: StoredObjects
    is_object: bool


async def _find_archived(found: Sequence[_Found], listing: BucketListing) -> Mapping[str, str]:
    """Return the keys of archived objects that cannot be read, with the reason."""
    archived = [
        each
        for part in found
        if not _ARCHIVED.isdisjoint(part.objects.iterate_field("storage_class"))
        for each in part.objects
        if each.storage_class in _ARCHIVED
    ]
    restorations = await asyncio.gather(*(listing.find_restoration(each) for each in archived))
    reasons: dict[str, str] = {}
    for each, restoration in zip(archived, restorations, strict=True):
        if restoration is Restoration.RUNNING:
            reasons[each.key] = f"is being restored from {each.storage_class}; copy it when it is there"
        elif restoration is None:
            reasons[each.key] = f"is archived in {each.storage_class}; restore it first, such as by {_RESTORE}"
    return reasons
