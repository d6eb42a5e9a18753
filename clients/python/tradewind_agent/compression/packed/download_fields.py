"""Header fields of a packed download: codecs of this host, and what is known of the path and the file."""

from tradewind_agent.compression.codecs import list_available_codecs
from tradewind_agent.compression.options import PackingOptions
from tradewind_agent.compression.planning import format_expectations
from tradewind_agent.compression.wire_names import (
    AT_ONCE_HEADER,
    CODECS_HEADER,
    EXPECTED_HEADER,
    FROM_HEADER,
    IDENTITY,
    LINE_HEADER,
    PACK_HEADER,
    PACKED_CODING,
)


def make_packed_fields(packing: PackingOptions, codings: str) -> dict[str, str]:
    """Of a request for a packed stream; ``codings`` : that will do as well."""
    fields = {
        "Accept-Encoding": f"{PACKED_CODING}, {codings}",
        PACK_HEADER: str(packing.mode),
        CODECS_HEADER: ",".join(sorted(list_available_codecs())),
    }
    if packing.advised is not None and packing.advised.answer is not None:
        fields[EXPECTED_HEADER] = format_expectations(packing.advised.answer)
    if packing.at_once > 1:
        fields[AT_ONCE_HEADER] = str(packing.at_once)
    if packing.line_bps is not None:
        fields[LINE_HEADER] = f"{packing.line_bps:.6g}"
    return fields


def make_packed_rest_fields(first: int, etag: str) -> dict[str, str]:
    """That ask for it from byte ``first`` on, of the version that ``etag`` names."""
    return {FROM_HEADER: str(first), "If-Match": etag}


def make_rest_fields(first: int, etag: str) -> dict[str, str]:
    """Return the fields of a request for the unpacked rest; another version is sent in full."""
    return {"Accept-Encoding": IDENTITY, "Range": f"bytes={first}-", "If-Range": etag}
