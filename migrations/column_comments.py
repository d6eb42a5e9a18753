"""Comments of views and columns that said something else than what is in them, as they are now and as they were."""

from collections.abc import Iterator
from typing import NamedTuple


class Comment(NamedTuple):
    """A comment of a view, or of a column where one is named, and the earlier one."""

    view: str
    column: str | None
    now: str
    before: str


CORRECTED = (
    Comment(
        "heartbeats",
        "bytes_moved",
        "bytes: moved since the transfer began, so the last one has them all: never add them up. "
        "In the interval it was throughput_bps * interval_s / 8.",
        "bytes: moved in the interval.",
    ),
    Comment(
        "heartbeats",
        "sent_bytes",
        "bytes: sent by TCP since the transfer began, retransmitted ones included.",
        "bytes: sent by TCP, retransmitted ones included.",
    ),
    Comment(
        "heartbeats",
        "retransmitted_bytes",
        "bytes: sent again by TCP since the transfer began.",
        "bytes: sent again by TCP.",
    ),
    Comment(
        "heartbeats",
        "power_w",
        "W: mean power in the interval, of the end that sent the heartbeat; NULL: not measured.",
        "W: mean power in the interval; NULL: not measured.",
    ),
    Comment(
        "links",
        "records",
        "Transfer records stored since the link is known: those of chunks, and those dropped with their month, count.",
        "Transfer records stored.",
    ),
    Comment(
        "links",
        "last_log_at",
        "End of the latest transfer among its records; transfers.received_at says when a record came.",
        "When the newest record was received.",
    ),
    Comment(
        "batches",
        "accepted",
        "Rows that were new and are stored.",
        "Rows accepted, those stored before among them.",
    ),
    Comment("batches", "rejected", "Rows rejected, those stored before among them.", "Rows rejected."),
    Comment(
        "batches",
        "already_stored",
        "Rows that had been stored before: a part of rejected.",
        "Rows that had been stored before.",
    ),
    Comment(
        "daily_rollups",
        None,
        "Facts: one row a day (UTC) and link. A transfer with several records of one day and link counts once, by the "
        "one received last; its records of other days or links count there. Workers bring it up to date within "
        "seconds of a change of its rows.",
        "Facts: one row a day (UTC) and link, counting each transfer once. Workers bring it up to date within seconds "
        "of a change of its rows.",
    ),
    Comment(
        "whole_transfers",
        None,
        "Facts: one row a transfer, without the rows of its chunks: the rows of warehouse.transfers to sum over. "
        "Two records of a transfer (logged twice under different ids or starts) are two rows; "
        "DISTINCT ON (coalesce(transfer_id, id)) takes one. A transfer whose chunks alone were logged has none.",
        "Facts: one row a transfer, without the rows of its chunks: the rows of warehouse.transfers to sum over.",
    ),
)


def write_comments() -> Iterator[str]:
    """Yield SQL that writes the comments as they are now."""
    return (_comment(each, each.now) for each in CORRECTED)


def restore_comments() -> Iterator[str]:
    """Yield SQL that writes the earlier comments."""
    return (_comment(each, each.before) for each in CORRECTED)


def _comment(of: Comment, text: str) -> str:
    name = f"VIEW warehouse.{of.view}" if of.column is None else f"COLUMN warehouse.{of.view}.{of.column}"
    return f"COMMENT ON {name} IS '{text}'"
