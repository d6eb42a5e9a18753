"""Pages of listings, as stores write them."""

from collections.abc import Sequence
from urllib.parse import quote


def write_keys(keys: Sequence[str], left: int) -> bytes:
    """Return a page of objects of one byte; of ``left`` that there are, the last one names the next page."""
    rows = "".join(f"<Contents><Key>{quote(key)}</Key><Size>1</Size></Contents>" for key in keys)
    if left > len(keys):
        rows += f"<IsTruncated>true</IsTruncated><NextContinuationToken>{quote(keys[-1])}</NextContinuationToken>"
    return f"<ListBucketResult><EncodingType>url</EncodingType>{rows}</ListBucketResult>".encode()
