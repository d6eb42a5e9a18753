"""Bodies of kinds that Schemathesis cannot write by itself."""

import schemathesis


def any_lines(_: schemathesis.SerializationContext, value: object) -> bytes:
    """What is generated for an upload, as it is: bytes, or text."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
