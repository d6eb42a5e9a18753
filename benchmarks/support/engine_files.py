"""The files of our engine that a figure of downloads or of uploads depends on.

Listings and relays are left out: no measured second passes there, and the correction of an index would make hours of
measurement stale.
"""

_ENGINE = "clients/python/tradewind_agent/engine"

DOWNLOADING = (
    *(f"{_ENGINE}/{folder}" for folder in ("dealing", "http", "local", "origin")),
    *(
        f"{_ENGINE}/{module}.py"
        for module in (
            *("download", "engine", "file_transfer", "jobs", "options", "path_sample", "plain_transfer"),
            *("pool", "progress", "range_read", "request_pipeline", "sent_alone", "skipping", "transfer_host"),
        )
    ),
)
"""What moves the bytes of downloads; uploads pass through most of it."""

UPLOADING = tuple(f"{_ENGINE}/{module}.py" for module in ("checked_upload", "upload", "upload_exchange"))
"""What uploads alone pass through."""
