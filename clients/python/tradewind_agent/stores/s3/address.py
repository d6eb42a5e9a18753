"""Addresses of objects: a bucket and a key, and where they are requested."""

import re
from dataclasses import dataclass
from typing import Self

from tradewind_agent.engine.http.address import Url
from tradewind_agent.errors import UnusableSource

SCHEME = "s3://"
_BUCKET = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?")
"""Amazon's have three characters or more; stores that serve folders as buckets have shorter ones."""

_HOST_NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
"""Buckets whose names may stand in a host name under a wildcard certificate, which dots may not."""

_LONGEST_KEY_BYTES = 1024


@dataclass(frozen=True, slots=True)
class S3Address:
    """``s3://bucket/key`` as a user writes it: the key is literal, not escaped."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address.

        Raises
        ------
        UnusableSource : no bucket, one that cannot be, or a key that no object can have.
        """
        bucket, slash, key = text.lstrip().rstrip("\r\n")[len(SCHEME) :].partition("/")
        bucket = bucket if slash else bucket.rstrip()  # blanks at the end of a key are part of it
        if _BUCKET.fullmatch(bucket) is None:
            raise UnusableSource(f"{text!r} names no bucket; write it like s3://bucket/folder/")
        if len(key.encode("utf-8", "surrogateescape")) > _LONGEST_KEY_BYTES:
            raise UnusableSource(f"the key in {text!r} is longer than the {_LONGEST_KEY_BYTES} bytes that one may have")
        return cls(bucket, key)

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}"


def build_bucket_url(bucket: str, endpoint_url: str | None, region: str) -> Url:
    """Return the address of a bucket, which ends with a slash: in the host name at AWS, else as the first folder.

    Raises
    ------
    UnusableSource : an endpoint that is no address.
    """
    if endpoint_url is not None:
        return Url.parse(endpoint_url.rstrip("/") + "/").join_path(bucket, is_folder=True)
    suffix = ".amazonaws.com.cn" if region.startswith("cn-") else ".amazonaws.com"
    if _HOST_NAME.fullmatch(bucket):
        return Url.parse(f"https://{bucket}.s3.{region}{suffix}/")
    return Url.parse(f"https://s3.{region}{suffix}/").join_path(bucket, is_folder=True)
