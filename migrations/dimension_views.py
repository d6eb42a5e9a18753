"""The views of endpoints and of the current tiers, to which names of other views refer."""

from migrations.warehouse_views import View

ENDPOINTS = View(
    "endpoints",
    "Dimension: end systems. warehouse.links names them as source and destination.",
    "public.endpoints",
    (
        ("endpoint_id", "The endpoint.", "id"),
        ("endpoint", "Its name.", "name"),
        ("power_policy", "always_on, on_for_transfers or battery; NULL: not known."),
        ("region", "Electricity region; see warehouse.region_hours. NULL: not known."),
    ),
)

TIERS = View(
    "tiers",
    "Dimension: one row a tier of the current release, with the name that the provider gave it.",
    """public.current_releases f JOIN public.release_links r ON r.release_id = f.release_id
        JOIN public.link_models m ON m.id = r.link_model_id
        JOIN public.clusters c ON c.link_model_id = m.id
        JOIN public.sla_partitions p ON p.cluster_id = c.id
        LEFT JOIN public.tier_names n ON n.tier_id = p.tier_id""",
    (
        ("tier_id", "The tier, which stays the same when it is learned again.", "p.tier_id"),
        ("tier", "Name that the provider gave it; NULL: none.", "n.name"),
        ("link_id", "The link; see warehouse.links.", "m.link_id"),
        ("cluster_id", "The cluster; see warehouse.clusters.", "c.id"),
        ("kind", "Kind of the SLA.", "p.kind"),
        ("confidence", "Probability wanted, 0 to 1.", "p.confidence"),
        ("energy_basis", "total or dynamic.", "p.energy_basis"),
        ("lower_bound", "Lower bound, in the unit of its kind (bit/s, J per byte or W).", "p.lower"),
        ("upper_bound", "Upper bound, in the same unit.", "p.upper"),
        ("probability", "Probability that it is met, 0 to 1.", "p.probability"),
    ),
)

DIMENSION_VIEWS = (ENDPOINTS, TIERS)
