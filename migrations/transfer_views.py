"""The views of transfers and heartbeats, with what was added to them."""

from dataclasses import replace

from migrations.warehouse_views import HEARTBEATS, TRANSFERS

TRANSFERS_WITH_STORES = replace(
    TRANSFERS,
    columns=(
        *TRANSFERS.columns,
        ("part_bytes", "bytes: parts in which large objects went; NULL: not in parts, or unknown."),
        ("store", "Kind of the remote end, such as http, s3 or webdav; NULL: unknown."),
    ),
)

_OF_ENDS = """CASE WHEN source_energy_j IS NULL AND destination_energy_j IS NULL THEN NULL
    WHEN destination_energy_j IS NULL THEN 'source' WHEN source_energy_j IS NULL THEN 'destination' ELSE 'both' END"""

TRANSFERS_WITH_ENDS = replace(
    TRANSFERS_WITH_STORES,
    comment="Facts: one row a transfer record. A transfer sent in chunks has a row a chunk and one with "
    "chunk = 'whole', joined by transfer_id; a sum over this view counts its bytes twice. "
    "Sum over warehouse.whole_transfers or warehouse.transfer_chunks.",
    columns=(
        *TRANSFERS_WITH_STORES.columns,
        (
            "energy_ends",
            "Ends that energy_j is of: source, destination or both; NULL: not measured. Compare equal ends only.",
            _OF_ENDS,
        ),
    ),
)

ENTIRE_TRANSFERS = replace(
    TRANSFERS_WITH_ENDS,
    name="whole_transfers",
    comment="Facts: one row a transfer, without the rows of its chunks: the rows of warehouse.transfers to sum over.",
    source="public.transfer_logs WHERE chunk IS NULL OR chunk = 'whole'",
)

TRANSFER_CHUNKS = replace(
    TRANSFERS_WITH_ENDS,
    name="transfer_chunks",
    comment="Facts: one row a chunk of a transfer that was sent in chunks; transfer_id is that of its whole.",
    source="public.transfer_logs WHERE chunk <> 'whole'",
)

_ONCE = (
    "Of several records of one day and link (logged twice under different ids or starts) it has the one received last, "
    "seconds after it came."
)

CURRENT_TRANSFERS = replace(
    ENTIRE_TRANSFERS,
    comment="Facts: one row a transfer, without the rows of its chunks: the rows of warehouse.transfers to sum over. "
    f"{_ONCE} Records of other days or links are rows of their own. "
    "A transfer whose chunks alone were logged has none.",
    source="public.transfer_logs WHERE (chunk IS NULL OR chunk = 'whole') AND NOT superseded",
)

CURRENT_CHUNKS = replace(
    TRANSFER_CHUNKS,
    comment=f"{TRANSFER_CHUNKS.comment} {_ONCE}",
    source="public.transfer_logs WHERE chunk <> 'whole' AND NOT superseded",
)

HEARTBEATS_WITH_DAYS = replace(
    HEARTBEATS,
    columns=(
        *HEARTBEATS.columns,
        ("day", "Day (UTC) of transfer_started_at.", "(transfer_started_at AT TIME ZONE 'UTC')::date"),
    ),
)
