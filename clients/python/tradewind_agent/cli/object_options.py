"""Options of objects that are sent to a store: class, type and metadata."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tradewind_agent.engine.store_access import ObjectProperties

_CLASS = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:\s*;[\x20-\x7e]*)?")
_TEXT = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?")
_PREFIX = "x-amz-meta-"
_MOST_METADATA_BYTES = 2048
"""Of all keys and values of an object together, which is what AWS takes."""


def build_object_properties(
    *,
    storage_class: Annotated[
        str | None, typer.Option(metavar="NAME", help="Storage class of uploaded objects, such as STANDARD_IA.")
    ] = None,
    content_type: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="Content type of uploaded objects; by default guessed from each name."),
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="User metadata of uploaded objects; may be given several times."),
    ] = None,
) -> "ObjectProperties":
    """Return what an object store is to know of the objects that are sent."""
    from tradewind_agent.engine.store_access import ObjectProperties

    if storage_class is not None and _CLASS.fullmatch(storage_class) is None:
        raise typer.BadParameter(
            f"{storage_class!r} is no class; write it like STANDARD_IA", param_hint="--storage-class"
        )
    if content_type is not None and _TYPE.fullmatch(content_type) is None:
        raise typer.BadParameter(f"{content_type!r} is no type; write it like text/csv", param_hint="--content-type")
    return ObjectProperties(
        storage_class=storage_class, content_type=content_type, metadata=_parse_metadata(metadata or ())
    )


def _parse_metadata(texts: "list[str] | tuple[str, ...]") -> tuple[tuple[str, str], ...]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or _KEY.fullmatch(key) is None or key.lower().startswith(_PREFIX):
            raise _make_refusal(f"{text!r} is no pair; write it like project=storm, with letters, digits, . _ - as key")
        if _TEXT.fullmatch(value) is None:
            raise _make_refusal(f"the value of {key} has other characters than ASCII, or blanks at an end")
        if key.lower() in pairs:
            raise _make_refusal(f"names {key.lower()} twice; stores ignore case")
        pairs[key.lower()] = value
    if sum(len(key) + len(value) for key, value in pairs.items()) > _MOST_METADATA_BYTES:
        raise _make_refusal(f"has more than the {_MOST_METADATA_BYTES} bytes that stores take")
    return tuple(sorted(pairs.items()))


def _make_refusal(reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint="--metadata")
