"""The last step of a download: check the sum, then give the file its name."""

from base64 import b64decode

from tradewind_agent.engine.retry import parse_http_date
from tradewind_agent.engine.storage import Identity, PartFile
from tradewind_agent.errors import FileFault


def verify_and_publish(part: PartFile, identity: Identity, sha256: str | None, *, durable: bool) -> None:
    """Publish a part that holds every byte; may wait for the disk.

    Parameters
    ----------
    identity : with the size known; its time of modification becomes the file's.
    sha256 : lower-case hex that the file must have, if known.

    Raises
    ------
    FileFault : another sum; the part is thrown away, because there is no telling which bytes are wrong.
    StorageFailed : the disk refuses.
    """
    assert identity.size_bytes is not None
    if sha256 is not None and (found := part.sha256()) != sha256:
        part.discard()
        raise FileFault(f"sha256 is {found}, expected {sha256}; the part was thrown away", retryable=False)
    modified = parse_http_date(identity.last_modified or "")
    part.publish(identity.size_bytes, modified.timestamp() if modified is not None else None, durable=durable)


def sha256_of(repr_digest: str) -> str | None:
    """Hex sum out of a Repr-Digest header (RFC 9530), if it has one."""
    for member in repr_digest.split(","):
        name, _, value = member.strip().partition("=")
        if name.lower() == "sha-256":
            try:
                return b64decode(value.strip(":"), validate=True).hex()
            except ValueError:
                return None
    return None
