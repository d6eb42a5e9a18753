"""What stores add to requests, uploads and relays, by origin: signatures, and forms of their own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from tradewind_agent.engine.http.address import Origin, Url

if TYPE_CHECKING:
    from tradewind_agent.engine.file_transfer import FileTransfer
    from tradewind_agent.engine.jobs import UploadJob
    from tradewind_agent.engine.relay.receivers import RelayReceiver, RelaySource
    from tradewind_agent.engine.transfer_host import TransferHost


class RequestSigner(Protocol):
    """Signs requests to one origin. A protocol, because stores are the layer above."""

    def sign(self, method: str, url: Url, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers to send in addition to ``headers``."""


class MakeUpload(Protocol):
    """Makes the upload of one job to one origin."""

    def __call__(self, job: "UploadJob", host: "TransferHost") -> "FileTransfer":
        """Return the upload."""


class StoreHooks:
    """The hooks of a run by origin, shared by all requests; a store adds its hooks when it is met."""

    def __init__(self) -> None:
        self._signers: dict[Origin, RequestSigner] = {}
        self._uploads: dict[Origin, MakeUpload] = {}
        self._receivers: dict[Origin, RelayReceiver] = {}
        self._sources: dict[Origin, RelaySource] = {}
        self._webdav: set[Origin] = set()

    def add_signer(self, origin: Origin, signer: RequestSigner) -> None:
        """Have requests to ``origin`` signed from now on."""
        self._signers[origin] = signer

    def add_uploads(self, origin: Origin, make_upload: MakeUpload) -> None:
        """Have uploads to ``origin`` made by the store from now on."""
        self._uploads[origin] = make_upload

    def add_receiver(self, origin: Origin, receiver: "RelayReceiver") -> None:
        """Have files from elsewhere sent to ``origin`` in the form of the store."""
        self._receivers[origin] = receiver

    def add_source(self, origin: Origin, source: "RelaySource") -> None:
        """Have answers of ``origin`` read as the store means them."""
        self._sources[origin] = source

    def note_webdav(self, origin: Origin) -> None:
        """Note that ``origin`` has listed or made a folder as WebDAV servers do."""
        self._webdav.add(origin)

    def speaks_webdav(self, origin: Origin) -> bool:
        """Return whether ``origin`` has proved to be a WebDAV server."""
        return origin in self._webdav

    def has_signer(self, origin: Origin) -> bool:
        """Return whether requests to ``origin`` are signed."""
        return origin in self._signers

    def sign(self, method: str, url: Url, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers that sign a request; none where the origin wants no signature."""
        signer = self._signers.get(url.origin)
        return {} if signer is None else signer.sign(method, url, headers)

    def find_upload(self, origin: Origin) -> MakeUpload | None:
        """Return what makes uploads to ``origin``; ``None`` where they are plain PUTs."""
        return self._uploads.get(origin)

    def find_receiver(self, origin: Origin) -> "RelayReceiver | None":
        """Return how ``origin`` takes files from elsewhere; ``None`` where by plain PUTs."""
        return self._receivers.get(origin)

    def find_source(self, origin: Origin) -> "RelaySource | None":
        """Return how answers of ``origin`` are read; ``None`` for web servers."""
        return self._sources.get(origin)
