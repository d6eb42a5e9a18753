"""The views that analysts query: their columns, and what each holds in which unit.

A view has `security_invoker`: the rows it shows are those that row-level security lets its reader see. Columns are
given as (name, comment) where the name is that of the table, or (name, comment, expression).
"""

from collections.abc import Sequence
from dataclasses import dataclass

Column = tuple[str, str] | tuple[str, str, str]


@dataclass(frozen=True)
class View:
    """A view of the schema ``warehouse`` over tables of the schema ``public``."""

    name: str
    comment: str
    source: str
    columns: Sequence[Column]


_OF_LINK = "The link; see warehouse.links."
_BOTH_ENDS_J = "coalesce(source_energy_j + destination_energy_j, source_energy_j, destination_energy_j)"
_OF_CLUSTER = "The cluster; see warehouse.clusters."


def _ends(host: str) -> Sequence[Column]:
    """Return the columns that an end of a transfer reports of its energy."""
    return (
        (f"{host}_energy_j", f"J: energy of the {host} during the transfer, base power included; NULL: not measured."),
        (f"{host}_dynamic_j", f"J: energy of the {host} above its base power."),
        (f"{host}_base_w", f"W: power of the {host} without the transfer."),
        (f"{host}_tail_j", f"J: energy of the {host} after the last byte, until its radio or processor is idle."),
        (f"{host}_energy_method", "rapl, battery, meter, fine_model or cpu_model."),
        (f"{host}_energy_quality", "measured, calibrated or assumed."),
    )


TRANSFERS = View(
    "transfers",
    "Facts: one row a transfer record. A transfer sent in chunks has a row a chunk and one with chunk = 'whole', "
    "joined by transfer_id: sum either the wholes or the chunks.",
    "public.transfer_logs",
    (
        ("id", "The record."),
        ("link_id", _OF_LINK),
        ("transfer_id", "The transfer that the record belongs to; NULL for logs of other tools."),
        ("day", "Day (UTC) of started_at.", "(started_at AT TIME ZONE 'UTC')::date"),
        ("started_at", "Begin."),
        ("ended_at", "End."),
        ("duration_s", "s: from begin to end.", "extract(epoch FROM ended_at - started_at)::double precision"),
        ("received_at", "When the service received the record."),
        ("batch_id", "The upload that brought it."),
        ("status", "How it ended: succeeded, failed, cancelled."),
        ("protocol", "Such as https or gsiftp."),
        ("direction", "download, upload or third_party."),
        ("mover_version", "Version of the program that moved the data."),
        ("chunk", "small, medium, large or whole; NULL for a transfer that was not sent in chunks."),
        ("sla", "The SLA asked for."),
        ("quote", "The price quoted."),
        ("bytes_moved", "bytes: moved."),
        ("files_done", "Files moved."),
        ("files_failed", "Files that failed."),
        ("throughput_bps", "bit/s: mean over the transfer."),
        ("retransmitted_bytes", "bytes: sent again by TCP."),
        ("file_count", "Files in the data set."),
        ("total_bytes", "bytes: of the data set."),
        ("mean_file_bytes", "bytes: mean size of a file."),
        ("min_file_bytes", "bytes: smallest file."),
        ("max_file_bytes", "bytes: largest file."),
        ("sd_file_bytes", "bytes: standard deviation of the sizes."),
        ("content_type", "What the files are."),
        ("bandwidth_bps", "bit/s: bandwidth of the path."),
        ("rtt_s", "s: round-trip time."),
        ("min_rtt_s", "s: least round-trip time, the path without queues."),
        ("loss_rate", "Share of packets lost, 0 to 1."),
        ("buffer_bytes", "bytes: TCP buffer."),
        ("concurrency", "Files moved at once; NULL: unknown."),
        ("parallelism", "Streams a file; NULL: unknown."),
        ("pipelining", "Requests sent ahead on a stream; NULL: unknown."),
        ("io_block_bytes", "bytes: of one read or write."),
        ("cores", "Processor cores that the transfer was given."),
        ("frequency_hz", "Hz: processor clock."),
        ("memory_bytes", "bytes: memory that the transfer was given."),
        ("disk_bps", "bit/s: disk rate that it was given."),
        ("nic_bps", "bit/s: network rate that it was given."),
        ("codec", "Compression."),
        ("congestion_control", "Of TCP."),
        ("usage_cpu", "Mean use of the processors, 0 to 1."),
        ("usage_memory", "Mean use of memory, 0 to 1."),
        ("usage_disk", "Mean use of the disk, 0 to 1."),
        ("usage_nic", "Mean use of the network card, 0 to 1."),
        ("energy_j", "J: of the ends that measured, base power included.", _BOTH_ENDS_J),
        *_ends("source"),
        *_ends("destination"),
    ),
)  # fmt: skip

HEARTBEATS = View(
    "heartbeats",
    "Facts: one row a heartbeat of a live transfer, with what was decided on it.",
    "public.transfer_samples",
    (
        ("transfer_id", "The transfer; transfers.transfer_id is the same."),
        ("transfer_started_at", "Begin of the transfer."),
        ("sequence", "Number of the heartbeat in its transfer, from 0."),
        ("at", "When it was sent, by the agent's clock."),
        ("interval_s", "s: that it covers."),
        ("bytes_moved", "bytes: moved in the interval."),
        ("throughput_bps", "bit/s: in the interval."),
        ("remaining_bytes", "bytes: still to be moved."),
        ("remaining_files", "Files still to be moved."),
        ("rtt_s", "s: round-trip time."),
        ("min_rtt_s", "s: least round-trip time so far."),
        ("sent_bytes", "bytes: sent by TCP, retransmitted ones included."),
        ("retransmitted_bytes", "bytes: sent again by TCP."),
        ("power_w", "W: mean power in the interval; NULL: not measured."),
        ("power_method", "rapl, battery, meter, fine_model or cpu_model."),
        ("power_quality", "measured, calibrated or assumed."),
        ("usage_cpu", "Mean use of the processors, 0 to 1."),
        ("usage_memory", "Mean use of memory, 0 to 1."),
        ("usage_disk", "Mean use of the disk, 0 to 1."),
        ("usage_nic", "Mean use of the network card, 0 to 1."),
        ("parameters", "JSON: parameters in force."),
        ("chunks", "JSON: parameters and progress of each chunk."),
        ("decided_chunks", "JSON: parameters decided for each chunk until the next heartbeat."),
        ("changed", "Whether the decision changed anything."),
        ("kind", "Kind of the decision."),
        ("reason", "Why it was taken, in words."),
        ("sla_bank", "bits (rates, deadlines) or J (energy, power): so far ahead of the SLA (positive) or behind."),
    ),
)

LINKS = View(
    "links",
    "Dimension: source, destination, network and mover between which data move.",
    "public.links l JOIN public.endpoints s ON s.id = l.source_id JOIN public.endpoints d ON d.id = l.destination_id",
    (
        ("link_id", "The link.", "l.id"),
        ("source", "Name of the source endpoint.", "s.name"),
        ("destination", "Name of the destination endpoint.", "d.name"),
        ("network", "Label of the network between them, if there is one.", "l.network"),
        ("mover", "The program that moves: its parameters are not those of another.", "l.mover"),
        ("records", "Transfer records stored.", "l.rows"),
        ("last_log_at", "When the newest record was received.", "l.last_log_at"),
    ),
)

RELEASES = View(
    "releases",
    "Dimension: what was learned and published together.",
    "public.releases r LEFT JOIN public.current_releases c ON c.release_id = r.id",
    (
        ("release_id", "The release.", "r.id"),
        ("state", "building, published, rejected, superseded, rolled_back or expired.", "r.state"),
        ("created_at", "When its fitting began.", "r.created_at"),
        ("published_at", "When it was put in force first.", "r.published_at"),
        ("parent_id", "The release in force before it.", "r.parent_id"),
        ("gate", "JSON: the checks before publishing.", "r.gate"),
        ("in_force", "Whether recommendations come from it now.", "c.release_id IS NOT NULL"),
    ),
)

_MODELS = """
    public.clusters c JOIN public.link_models m ON m.id = c.link_model_id
      LEFT JOIN (public.current_releases f JOIN public.release_links r ON r.release_id = f.release_id)
             ON r.link_model_id = m.id
"""

CLUSTERS = View(
    "clusters",
    "Dimension: transfers of a link that are alike in data set and load, and were learned from together.",
    _MODELS,
    (
        ("cluster_id", "The cluster.", "c.id"),
        ("link_id", _OF_LINK, "m.link_id"),
        ("release_id", "The release in force, if the cluster is part of it; else NULL.", "r.release_id"),
        ("fitted_at", "When it was learned.", "m.fitted_at"),
        ("ordinal", "Number in its link.", "c.ordinal"),
        ("dataset_tier", "Which of the link's kinds of data sets, from 0.", "c.dataset_tier"),
        ("load_tier", "Which of the link's levels of load, from 0.", "c.load_tier"),
        ("mean_file_bytes", "bytes: mean size of a file at the centre.", "power(2, c.log2_mean_file_bytes)"),
        ("file_count", "Files in a data set at the centre.", "power(2, c.log2_file_count)"),
        ("load", "Load of other transfers at the centre, as a share of the bandwidth.", "c.load"),
        ("records", "Transfer records learned from.", "c.rows"),
        ("accuracy", "JSON: accuracy on records held out.", "c.accuracy"),
        (
            "queueing_delay_p90_s",
            "JSON: s, 90th percentile of the queueing delay by streams.",
            "c.queueing_delay_p90_s",
        ),
        ("loss_baseline", "Share of packets lost without us, 0 to 1.", "c.loss_baseline"),
        ("bandwidth_bps", "bit/s: bandwidth of the path when it was learned.", "m.bandwidth_bps"),
        ("rtt_s", "s: round-trip time when it was learned.", "m.rtt_s"),
    ),
)

SURFACES = View(
    "surfaces",
    "Facts: the surface of a cluster on its lattice of settings. Arrays run over the axes, the last one fastest.",
    "public.surfaces",
    (
        ("cluster_id", _OF_CLUSTER),
        ("axes", "JSON: the settings along each axis."),
        ("log_throughput_mean", "ln(bit/s): mean of the logarithm of throughput."),
        ("log_throughput_sd", "Standard deviation of the logarithm of throughput."),
        ("log_power_mean", "ln(W): mean of the logarithm of power; NULL: not measured."),
        ("log_power_sd", "Standard deviation of the logarithm of power."),
        ("log_covariance", "Covariance of the two logarithms."),
        ("certified", "Whether the data reach to the setting."),
        ("observed", "JSON: settings that were observed, with their counts."),
        ("base_power_w", "W: power of the ends without a transfer."),
    ),
)

PARTITIONS = View(
    "partitions",
    "Facts: SLA partitions over the Pareto front of a cluster.",
    "public.sla_partitions",
    (
        ("partition_id", "The partition.", "id"),
        ("cluster_id", _OF_CLUSTER),
        ("tier_id", "The tier, which stays the same when it is learned again."),
        ("ordinal", "Number in its cluster."),
        ("kind", "Kind of the SLA."),
        ("confidence", "Probability wanted, 0 to 1."),
        ("energy_basis", "total or dynamic."),
        ("lower_bound", "Lower bound of what is asked, in the unit of its kind (bit/s, J per byte or W).", "lower"),
        ("upper_bound", "Upper bound, in the same unit.", "upper"),
        ("upper_closed", "Whether the upper bound belongs to it.", "closed"),
        ("parameters", "JSON: what is used for it."),
        ("predicted", "JSON: throughput (bit/s), power (W) and energy predicted."),
        ("probability", "Probability that it is kept, 0 to 1."),
        ("regret", "What it gives away against the best setting of each request, as a share."),
        ("needs_review", "Whether its bounds moved since somebody looked at it."),
    ),
)

PRICES = View(
    "prices",
    "Facts: the price of each tier in each price book, in the currency of the book.",
    "public.prices p JOIN public.price_books b ON b.id = p.book_id",
    (
        ("book_id", "The price book.", "b.id"),
        ("book", "Its name.", "b.name"),
        ("tier_id", "The tier; see partitions.tier_id.", "p.tier_id"),
        ("currency", "Of the amounts, by ISO 4217.", "b.currency"),
        ("energy_basis", "Energy that per_kwh is about: total or dynamic.", "b.energy_basis"),
        ("base", "Amount a transfer.", "p.base"),
        ("per_gb", "Amount a GB (1e9 bytes) moved.", "p.per_gb"),
        ("per_kwh", "Amount a kWh of energy.", "p.per_kwh"),
        ("margin", "Share that is added to the sum.", "p.margin"),
        ("published_at", "When the book was published; NULL: a draft.", "b.published_at"),
        ("effective_from", "From when on it holds, until the next one does; NULL: a draft.", "b.effective_from"),
    ),
)

DAILY_ROLLUPS = View(
    "daily_rollups",
    "Facts: one row a day (UTC) and link, counting each transfer once. Workers bring it up to date within seconds of a "
    "change of its rows.",
    "public.daily_rollups",
    (
        ("day", "Day (UTC) of the transfers' begin."),
        (
            "link_id",
            "The link; NULL for transfers that ended without a record. See warehouse.links.",
            "nullif(link_id, '00000000-0000-0000-0000-000000000000')",
        ),
        ("transfers", "Transfers recorded, chunks counted with their whole."),
        ("succeeded", "Those of them that succeeded."),
        ("bytes_moved", "bytes: moved by all of them."),
        ("duration_s", "s: sum of their durations."),
        ("measured_energy_j", "J: energy of the ends that a meter measured, base power included."),
        ("modelled_energy_j", "J: energy of the ends that was told by a model, calibrated or assumed."),
        ("metered_bytes", "bytes: moved by the transfers whose energy is known of at least one end."),
        ("ended", "Transfers of the service that ended, known by heartbeats or recommendations."),
        ("kept", "Those of them that kept what was agreed on."),
        ("missed", "Those that missed it; of the others nothing was agreed or could be measured."),
        ("unpromised", "Those judged against what was asked for, but could not be promised: neither kept nor missed."),
        ("tuned_transfers", "Transfers of the service that succeeded."),
        ("tuned_bytes", "bytes: moved by those."),
        ("tuned_s", "s: their bytes over their throughput; tuned_bytes * 8 / tuned_s is their mean throughput."),
        ("tuned_energy_j", "J: their energy where it is known."),
        ("tuned_metered_bytes", "bytes: moved by those of them whose energy is known."),
        ("metered_source", "Transfers recorded whose energy is known of the source alone."),
        ("metered_destination", "Transfers recorded whose energy is known of the destination alone."),
        ("metered_both", "Transfers recorded whose energy is known of both ends."),
        ("tuned_source_j", "J: of tuned_energy_j, of transfers metered at the source alone."),
        ("tuned_source_bytes", "bytes: moved by those."),
        ("tuned_destination_j", "J: of tuned_energy_j, of transfers metered at the destination alone."),
        ("tuned_destination_bytes", "bytes: moved by those."),
        ("tuned_both_j", "J: of tuned_energy_j, of transfers metered at both ends."),
        ("tuned_both_bytes", "bytes: moved by those."),
        ("rolled_up_at", "When the row was made."),
    ),
)

QUOTES = View(
    "quotes",
    "Facts: one row a recommendation in a tier, quoted or not; transfers.transfer_id tells what became of it.",
    "public.quotes",
    (
        ("transfer_id", "The transfer that it was offered for; transfers.transfer_id is the same."),
        ("day", "Day (UTC) of at.", "(at AT TIME ZONE 'UTC')::date"),
        ("at", "When it was offered."),
        ("key_id", "The key that asked."),
        ("link_id", _OF_LINK),
        ("tier_id", "The tier; see partitions.tier_id."),
        ("book_id", "The price book in force; see prices.book_id. NULL: there was none."),
        (
            "amount",
            "Price offered, in the currency; NULL: the book has none for the tier, or there was no book.",
            "amount::numeric(38, 6)",
        ),
        ("currency", "Of the amount, by ISO 4217; NULL: there was no book."),
        ("energy_basis", "Energy that the price is about, without a book the agreement: total or dynamic."),
        ("sla", "Kind of the SLA asked for."),
        ("total_bytes", "bytes: of the data set."),
        ("throughput_bps", "bit/s: predicted mean."),
        ("energy_j", "J: predicted on the energy basis; NULL: not known."),
    ),
)

VIEWS = (TRANSFERS, HEARTBEATS, LINKS, RELEASES, CLUSTERS, SURFACES, PARTITIONS, PRICES)

READ_TABLES = (
    "transfer_logs", "transfer_samples", "links", "endpoints", "releases", "current_releases", "release_links",
    "link_models", "clusters", "surfaces", "sla_partitions", "prices", "price_books",
)  # fmt: skip
"""What the views are made of."""


def statements(view: View) -> list[str]:
    """SQL that makes the view with its comments, for readers and the application."""
    grant = f"GRANT SELECT ON warehouse.{view.name} TO tradewind_reader, tradewind_app"
    return [*_made(view, "CREATE VIEW"), grant]


def replaced(view: View) -> list[str]:
    """SQL that has a view with the same columns hold something else in them."""
    return _made(view, "CREATE OR REPLACE VIEW")


def _made(view: View, verb: str) -> list[str]:
    selected = ", ".join(f"{column[2] if len(column) == 3 else column[0]} AS {column[0]}" for column in view.columns)
    name = f"warehouse.{view.name}"
    return [
        f"{verb} {name} WITH (security_invoker = true) AS SELECT {selected} FROM {view.source}",  # noqa: S608
        f"COMMENT ON VIEW {name} IS {_quoted(view.comment)}",
        *(f"COMMENT ON COLUMN {name}.{column[0]} IS {_quoted(column[1])}" for column in view.columns),
    ]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
