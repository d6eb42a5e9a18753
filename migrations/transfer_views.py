"""The view of transfers, with what was added to it."""

from dataclasses import replace

from migrations.warehouse_views import TRANSFERS

TRANSFERS_WITH_STORES = replace(
    TRANSFERS,
    columns=(
        *TRANSFERS.columns,
        ("part_bytes", "bytes: parts in which large objects went; NULL: not in parts, or unknown."),
        ("store", "Kind of the remote end, such as http, s3 or webdav; NULL: unknown."),
    ),
)
