"""Bodies of kinds that Schemathesis cannot write by itself."""

import schemathesis


def serialize_lines(_: schemathesis.SerializationContext, value: object) -> bytes:
    """Return what is generated for an upload unchanged: bytes, or text."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
