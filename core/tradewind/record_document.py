"""A transfer record as plain JSON under its wire names, written without the wire models.

The models of `tradewind.wire` check what unauthenticated clients send. They take longer to load than a small copy.
So this host writes what it has measured itself by the functions below; `tests/unit/core/test_record_document.py` holds
both forms equal.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from tradewind.dataset import DataSet
from tradewind.transfer import TransferRecord


def to_document(record: TransferRecord) -> dict[str, Any]:
    """Return the record under its wire names; what is unknown is left out."""
    fields = {
        "id": str(record.id),
        "started_at": format_instant(record.started_at),
        "ended_at": format_instant(record.ended_at),
        "source": record.source,
        "destination": record.destination,
        "mover": list_known(record.mover),
        "protocol": record.protocol,
        "direction": record.direction.value,
        "dataset": _describe_dataset(record.dataset),
        "outcome": list_known(record.outcome),
        "store": record.store,
        "network": record.network,
        "path": list_known(record.path),
        "parameters": record.parameters.list_known(),
        "usage": None if record.usage is None else list_known(record.usage),
        "energy": [list_known(reading) for reading in record.energy],
        "chunk": None if record.chunk is None else record.chunk.value,
        "transfer_id": None if record.transfer_id is None else str(record.transfer_id),
        "sla": record.sla,
        "quote": record.quote,
    }
    return _drop_unknown(fields.items())


def to_line(record: TransferRecord) -> bytes:
    """Return the record as one NDJSON line with its newline.

    Raises
    ------
    ValueError : a number that is not finite, which JSON cannot hold.
    """
    document = to_document(record)
    if not record.energy:
        del document["energy"]
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def format_instant(instant: datetime) -> str:
    """Return an instant as the wire has it: UTC is written ``Z``."""
    return instant.isoformat().replace("+00:00", "Z")


def list_known(value: Any) -> dict[str, Any]:
    """Return the known fields of a flat value object with slots."""
    return _drop_unknown((name, getattr(value, name)) for name in value.__slots__)


def _describe_dataset(dataset: DataSet) -> dict[str, Any]:
    sums = {
        "file_count": dataset.file_count,
        "total_bytes": dataset.total_bytes,
        "mean_file_bytes": dataset.mean_file_bytes,
    }
    return sums | list_known(dataset)


def _drop_unknown(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in fields if value is not None}
