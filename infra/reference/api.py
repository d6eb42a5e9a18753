"""Calls of the API and their schemas, from the OpenAPI document that is under test."""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from infra.openapi import SNAPSHOT
from infra.reference.authorisation import KEYS, list_calls
from infra.reference.markdown import format_code, format_page, format_table

Json = Mapping[str, Any]
SCHEMA_PREFIX = "#/components/schemas/"

INTRODUCTION = """\
Every call of the API. The running service describes the same at `/docs`, to read and try, and at `/openapi.json`, for
programs. [Call the API](../how-to/call-the-api.md) goes through the usual calls by example.

- A call needs a key: `Authorization: Bearer tw_…`. *Scopes* names the keys that it takes.
- Times are ISO 8601 in UTC. Units are in the names: `_bps` is bit/s, `_bytes` bytes, `_s` seconds, `_j` joules,
  `_w` watts.
- An error is a problem of RFC 9457, as `application/problem+json`: see
  [`Problem`](api-schemas.md#problem)."""

SCHEMA_INTRODUCTION = """\
What requests and answers of [the API](api.md) hold. A field that is marked *required* must be given; of the others the
default is named where there is one."""


def render_api() -> str:
    """Return the page of calls, a section a tag."""
    paths = _build_document()["paths"]
    operations = [
        (call["tags"][0], method.upper(), path, call)
        for path, methods in paths.items()
        for method, call in methods.items()
    ]
    ordered = sorted(operations, key=lambda each: each[:1])
    sections = (
        f"## {tag.capitalize()}\n\n"
        + "\n\n".join(_format_operation(method, path, call) for _, method, path, call in group)
        for tag, group in groupby(ordered, key=lambda each: each[0])
    )
    return format_page("API", INTRODUCTION, *sections)


def render_api_schemas() -> str:
    """Return the page of schemas, by name."""
    schemas = _build_document()["components"]["schemas"]
    return format_page(
        "API schemas", SCHEMA_INTRODUCTION, *(_format_schema(name, each) for name, each in sorted(schemas.items()))
    )


def _build_document() -> Json:
    document: Json = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    return document


def _format_operation(method: str, path: str, call: Json) -> str:
    lines = [f"### {method} {path}", call.get("description", "").replace("``", "`") or f"{call['summary']}."]
    facts = [f"- Scopes: {_format_scopes(method, path)}"]
    if body := call.get("requestBody"):
        facts.append(f"- Body: {_format_contents(body)}")
    facts += [
        f"- Answer {status}: {_format_contents(answer)}"
        for status, answer in call["responses"].items()
        if status.isdigit() and status < "300"
    ]
    lines.append("\n".join(facts))
    if parameters := call.get("parameters"):
        rows = (
            (
                format_code(each["name"]),
                each["in"],
                *_build_field_cells(each["schema"], required=each.get("required", False)),
                each.get("description", ""),
            )
            for each in parameters
        )
        lines.append(format_table(("parameter", "in", "type", "default", "meaning"), rows))
    return "\n\n".join(lines)


def _format_scopes(method: str, path: str) -> str:
    permitted = next((each.permitted for each in list_calls() if (each.method, each.path) == (method, path)), None)
    return "none needed" if permitted is None else ", ".join(scope for scope in KEYS if scope in permitted)


def _format_contents(message: Json) -> str:
    contents = message.get("content", {})
    described = (
        f"{format_code(kind)} {_format_type(each['schema'])}" if each.get("schema") else format_code(kind)
        for kind, each in contents.items()
    )
    return ", ".join(described) or message.get("description", "empty")


def _format_schema(name: str, schema: Json) -> str:
    parts = [f"## {name}"]
    if description := schema.get("description"):
        parts.append(description.replace("``", "`"))
    required = schema.get("required", ())
    if fields := schema.get("properties"):
        rows = (
            (format_code(field), *_build_field_cells(each, required=field in required), each.get("description", ""))
            for field, each in fields.items()
        )
        parts.append(format_table(("field", "type", "default", "meaning"), rows))
    else:
        parts.append(_format_type(schema))
    return "\n\n".join(parts)


def _build_field_cells(schema: Json, *, required: bool) -> tuple[str, str]:
    default = (
        "*required*"
        if required
        else format_code(json.dumps(schema["default"]))
        if schema.get("default") is not None
        else ""
    )
    return _format_type(schema), default


def _format_type(schema: Json) -> str:
    """Return a type in words, with its bounds; a named one as a link."""
    if reference := schema.get("$ref"):
        name = reference.removeprefix(SCHEMA_PREFIX)
        return f"[{name}](api-schemas.md#{name.lower()})"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_format_type(each) for each in choices))
    if values := schema.get("enum") or [schema[key] for key in ("const",) if key in schema]:
        return ", ".join(format_code(str(each)) for each in values)
    if schema.get("type") == "array":
        items = schema.get("prefixItems") or [schema.get("items", {})]
        return f"array of {', '.join(map(_format_type, items))}{_format_bounds(schema)}"
    return f"{schema.get('format') or schema.get('type', 'any value')}{_format_bounds(schema)}"


def _format_bounds(schema: Json) -> str:
    return "".join(_format_each_bound(schema))


def _format_each_bound(schema: Json) -> Iterator[str]:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    yield from (
        f", {sign} {schema[key]:,g}" if isinstance(schema[key], float) else f", {sign} {schema[key]:,}"
        for key, sign in signs.items()
        if key in schema
    )
    lengths = {"maxLength": "characters", "maxItems": "items"}
    yield from (f", at most {schema[key]:,} {what}" for key, what in lengths.items() if key in schema)
