"""Schemes of addresses that tradewind itself does not speak, and which tool copies them."""

from collections.abc import Mapping, Sequence

RCLONE_BACKENDS: Mapping[str, str] = {
    "sftp": "sftp",
    "ftp": "ftp",
    "gs": "google cloud storage",
    "gcs": "google cloud storage",
    "az": "azureblob",
    "azure": "azureblob",
    "b2": "b2",
    "swift": "swift",
    "hdfs": "hdfs",
    "smb": "smb",
}
"""Types of rclone's remotes (rclone docs, overview), by scheme."""

ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(
        ("gsiftp", "sshftp"), "globus-url-copy copies it: add --mover globus-url-copy, or use wrap -- globus-url-copy"
    ),
    **dict.fromkeys(
        ("root", "roots", "xroot"),
        "no mover that tradewind knows does; XRootD servers often have an https:// door, which it copies from",
    ),
    **dict.fromkeys(("dav", "davs", "webdav"), "write http:// or https://, by which it lists WebDAV servers"),
}
"""Which way leads to a place that is not for rclone, by scheme."""


def find_other_scheme(places: Sequence[str]) -> str | None:
    """Return the first scheme among ``places`` that another tool is needed for; ``None`` if there is none."""
    schemes = (place.strip().partition("://") for place in places)
    others = (scheme.lower() for scheme, colon, _ in schemes if colon)
    return next((scheme for scheme in others if scheme in RCLONE_BACKENDS or scheme in ELSEWHERE), None)
