"""What a store is to know of an object, as the headers of its upload, and whether it knows that."""

import mimetypes
from collections.abc import Mapping

from tradewind_agent.engine.store_access import ObjectProperties

METADATA_PREFIX = "x-amz-meta-"
_CLASS, _USUAL_CLASS = "x-amz-storage-class", "STANDARD"
_USUAL_TYPE = "application/octet-stream"


def write_properties(properties: ObjectProperties, name: str) -> dict[str, str]:
    """Return the headers of an upload of a file of this name."""
    kind = properties.content_type or mimetypes.guess_type(name, strict=False)[0] or _USUAL_TYPE
    headers = {"Content-Type": kind, **{METADATA_PREFIX + key: value for key, value in properties.metadata}}
    return headers if properties.storage_class is None else {**headers, _CLASS: properties.storage_class}


def has_properties(answered: Mapping[str, str], sent: Mapping[str, str]) -> bool:
    """Return whether an object has what `write_properties` gives, by the headers of an answer to HEAD.

    A store names no class where it is the usual one.
    """
    metadata = {name: value for name, value in answered.items() if name.startswith(METADATA_PREFIX)}
    return (
        metadata == {name: value for name, value in sent.items() if name.startswith(METADATA_PREFIX)}
        and answered.get("content-type") == sent["Content-Type"]
        and answered.get(_CLASS, _USUAL_CLASS) == sent.get(_CLASS, _USUAL_CLASS)
    )
