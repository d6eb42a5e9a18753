"""Views of what was promised and how it ended, of surfaces by the setting, and of uploads."""

from migrations.warehouse_views import View

_KIND = "coalesce(t.enquiry -> 'sla' ->> 'kind', t.sla)"
_FEASIBLE = "(t.expected ->> 'feasible') IS DISTINCT FROM 'false'"
_OUTCOME = f"""CASE WHEN t.ended_at IS NULL THEN 'running' WHEN t.agreement_kept IS NULL THEN 'not_judged'
    WHEN NOT ({_FEASIBLE}) THEN 'not_promised' WHEN t.agreement_kept THEN 'met' ELSE 'missed' END"""
_MISSED = f"t.ended_at IS NOT NULL AND NOT t.agreement_kept AND {_FEASIBLE}"
_REASON = f"""CASE WHEN t.status IN ('failed', 'cancelled') THEN t.status WHEN ({_MISSED}) IS NOT TRUE THEN NULL
    WHEN {_KIND} = 'deadline' THEN 'too_late' WHEN {_KIND} = 'energy_at_most' THEN 'too_much_energy'
    WHEN {_KIND} = 'power_at_most' THEN 'too_much_power' ELSE 'too_slow' END"""
_UNIT = f"""CASE {_KIND} WHEN 'throughput_at_least' THEN 'bit/s' WHEN 'energy_at_most' THEN 'J'
    WHEN 'power_at_most' THEN 'W' WHEN 'deadline' THEN 's' END"""

TRANSFER_SLAS = View(
    "transfer_slas",
    "Facts: one row a transfer of the service: what was asked, promised and quoted, and how it ended. "
    "Shares of met by tier, and met by probability, are one query each.",
    """public.transfers t
        LEFT JOIN public.api_keys k ON k.id = t.key_id
        LEFT JOIN LATERAL (
            SELECT tier_id, amount, currency, energy_basis FROM public.quotes
             WHERE transfer_id = t.id
               AND at BETWEEN t.started_at - interval '62 days' AND t.started_at + interval '1 day'
             ORDER BY at DESC LIMIT 1) q ON true
        LEFT JOIN public.tier_names n ON n.tier_id = q.tier_id""",
    (
        ("transfer_id", "The transfer; transfers.transfer_id is the same.", "t.id"),
        ("link_id", "The link; see warehouse.links. NULL: it runs, or logged nothing.",
         "nullif(t.link_id, '00000000-0000-0000-0000-000000000000')"),
        ("day", "Day (UTC) of started_at.", "(t.started_at AT TIME ZONE 'UTC')::date"),
        ("started_at", "Begin.", "t.started_at"),
        ("ended_at", "End; NULL: it runs.", "t.ended_at"),
        ("status", "How it ended: succeeded, failed, cancelled; NULL: it runs.", "t.status"),
        ("customer", "Name of the API key that it was sent with.", "k.name"),
        ("labels", "JSON: labels that its agent gave it, such as activity, user and project.", "t.enquiry -> 'labels'"),
        ("sla", "Kind of the SLA asked for.", _KIND),
        ("target", "Target of the SLA in target_unit; of a share of the maximum, what it came to. NULL: none.",
         "coalesce(t.enquiry -> 'sla' ->> 'target', t.expected ->> 'target_bps')::double precision"),
        ("target_unit", "bit/s, J, W or s; NULL: the kind takes no target.", _UNIT),
        ("fraction", "Share of the certifiable maximum asked for, in place of a target.",
         "(t.enquiry -> 'sla' ->> 'fraction')::double precision"),
        ("energy_basis", "Energy that the SLA is about: total or dynamic; NULL: not known.",
         "coalesce(t.enquiry -> 'sla' ->> 'energy_basis', q.energy_basis)"),
        ("confidence", "Probability asked for, 0 to 1.", "(t.enquiry -> 'sla' ->> 'confidence')::double precision"),
        ("probability", "Probability promised, 0 to 1; NULL: nothing was.",
         "(t.expected ->> 'probability')::double precision"),
        ("tier_id", "The tier quoted; see partitions.tier_id. NULL: none.", "q.tier_id"),
        ("tier", "Name that the provider gave the tier.", "n.name"),
        ("amount", "Price quoted, in the currency; NULL: none.", "q.amount::numeric(38, 6)"),
        ("currency", "Of the amount, by ISO 4217.", "q.currency"),
        ("outcome", "met, missed, not_promised (asked for, but not possible), not_judged or running.", _OUTCOME),
        ("met", "Whether the SLA was met; NULL unless outcome is met or missed.",
         f"CASE WHEN {_FEASIBLE} THEN t.agreement_kept END"),
        ("failure_reason", "failed, cancelled, too_slow, too_late, too_much_energy or too_much_power; NULL: none.",
         _REASON),
        ("bytes_moved", "bytes: moved.", "t.bytes_moved"),
        ("duration_s", "s: from begin to end.", "t.duration_s"),
        ("throughput_bps", "bit/s: mean over the transfer.", "t.throughput_bps"),
        ("energy_j", "J: of the ends that measured.", "t.energy_j"),
    ),
)  # fmt: skip

_AXES = ("concurrency", "parallelism", "pipelining", "cores", "frequency_hz", "io_block_bytes", "part_bytes")
"""In the order of the lattice, as the service stores it."""

_MEANINGS = ("Files at once", "Streams a file", "Requests sent ahead", "Processor cores", "Hz: processor clock",
             "bytes: of one read or write", "bytes: of the parts of large objects")  # fmt: skip


def _count_values(axis: str) -> str:
    return f"coalesce(jsonb_array_length(s.axes -> '{axis}'), 1)"


def _get_value(place: int) -> str:
    """Return SQL of an axis' value at point ``p.at``: arrays run over the axes, the last one fastest."""
    axis, stride = _AXES[place], " * ".join(["1", *map(_count_values, _AXES[place + 1 :])])
    return f"(s.axes -> '{axis}' ->> ((p.at - 1) / ({stride}) % {_count_values(axis)})::integer)::double precision"


SURFACE_SETTINGS = View(
    "surface_settings",
    "Facts: one row a setting on the surface of a cluster, with what is expected there.",
    "public.surfaces s CROSS JOIN LATERAL generate_subscripts(s.log_throughput_mean, 1) AS p(at)",
    (
        ("cluster_id", "The cluster; see warehouse.clusters.", "s.cluster_id"),
        ("ordinal", "Number of the setting in the arrays of warehouse.surfaces, from 1.", "p.at"),
        *((axis, f"{_MEANINGS[place]}; NULL: not an axis of this surface.", _get_value(place))
          for place, axis in enumerate(_AXES)),
        ("throughput_bps", "bit/s: median expected.", "exp(s.log_throughput_mean[p.at])"),
        ("log_throughput_sd", "Standard deviation of the logarithm of throughput.", "s.log_throughput_sd[p.at]"),
        ("power_w", "W: median expected; NULL: not measured.", "exp(s.log_power_mean[p.at])"),
        ("log_power_sd", "Standard deviation of the logarithm of power.", "s.log_power_sd[p.at]"),
        ("certified", "Whether the data reach to the setting.", "s.certified[p.at]"),
    ),
)  # fmt: skip

BATCHES = View(
    "batches",
    "Facts: one row an upload of logs. transfers.batch_id refers to it.",
    "public.batches b LEFT JOIN public.api_keys k ON k.id = b.key_id",
    (
        ("batch_id", "The upload.", "b.id"),
        ("received_at", "When the service received it.", "b.received_at"),
        ("customer", "Name of the API key that sent it; NULL: the key is gone.", "k.name"),
        ("accepted", "Rows accepted, those stored before among them.", "b.accepted"),
        ("already_stored", "Rows that had been stored before.", "b.already_stored"),
        ("rejected", "Rows rejected.", "b.rejected"),
    ),
)

QUARANTINE = View(
    "quarantine",
    "Facts: one row a rejected row of an upload that can still be corrected.",
    "public.log_quarantine q JOIN public.batches b ON b.id = q.batch_id",
    (
        ("batch_id", "The upload; see warehouse.batches.", "q.batch_id"),
        ("received_at", "When the service received it.", "b.received_at"),
        ("row", "Number of the row in the upload, from 1.", "q.row"),
        ("field", "The field that is wrong.", "q.field"),
        ("reason", "What is wrong with it.", "q.reason"),
    ),
)

ANALYST_VIEWS = (TRANSFER_SLAS, SURFACE_SETTINGS, BATCHES, QUARANTINE)

READ_COLUMNS = {
    "transfers": "tenant_id, id, started_at, ended_at, status, sla, enquiry, expected, key_id, link_id, bytes_moved, "
    "duration_s, throughput_bps, energy_j, agreement_kept",
    "api_keys": "tenant_id, id, name",
    "tier_names": "tenant_id, tier_id, name",
    "batches": "tenant_id, id, received_at, key_id, accepted, rejected, already_stored",
    "log_quarantine": 'tenant_id, batch_id, "row", field, reason',
}
"""Columns that analysts' logins may read of tables that no other view is made of; never a secret, nor a raw row."""
