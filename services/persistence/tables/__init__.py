"""Tables as SQLAlchemy Core; migrations create them, and a test compares the two."""

from services.persistence.tables.backups import database_copies
from services.persistence.tables.billing.customers import (
    customer_keys,
    customers,
    negotiated_price_rules,
    negotiated_prices,
)
from services.persistence.tables.billing.issued import (
    issued_adjustments,
    issued_statements,
    issued_sums,
    issued_transfers,
)
from services.persistence.tables.billing.prices import (
    own_cuts,
    price_books,
    price_rules,
    prices,
    quotes,
    tier_decisions,
    tier_names,
)
from services.persistence.tables.billing.usage import usage_imports, usage_marks, usage_transfers
from services.persistence.tables.compression import compression_observations
from services.persistence.tables.devices import device_profiles
from services.persistence.tables.exports import export_failures, export_marks, log_days
from services.persistence.tables.inventory import (
    endpoint_aliases,
    endpoint_pairs,
    endpoints,
    learned_limits,
    limits,
    link_labels,
    links,
)
from services.persistence.tables.logs import batches, log_quarantine, transfer_logs
from services.persistence.tables.metadata import METADATA
from services.persistence.tables.models import (
    clusters,
    current_releases,
    endpoint_curves,
    link_models,
    release_endpoints,
    release_links,
    releases,
    sla_partitions,
    surfaces,
)
from services.persistence.tables.pages import page_connections, page_loads
from services.persistence.tables.regions import region_hours, regions
from services.persistence.tables.retention import (
    closed_months,
    sealed_customer_usage,
    sealed_months,
    sealed_transfers,
    sealed_usage,
)
from services.persistence.tables.rollups import daily_rollups, hourly_rollups, rollup_marks
from services.persistence.tables.submissions import submissions
from services.persistence.tables.tenancy import api_keys, statement_issuers, tenants
from services.persistence.tables.transfers import transfer_samples, transfers
from services.persistence.tables.users import audit_log, sign_in_networks, user_identities, user_sessions, users
from services.persistence.tables.warehouse import personal_logins, query_log, saved_queries, warehouse_logins

__all__ = [
    "METADATA",
    "api_keys",
    "audit_log",
    "batches",
    "closed_months",
    "clusters",
    "compression_observations",
    "current_releases",
    "customer_keys",
    "customers",
    "daily_rollups",
    "database_copies",
    "device_profiles",
    "endpoint_aliases",
    "endpoint_curves",
    "endpoint_pairs",
    "endpoints",
    "export_failures",
    "export_marks",
    "hourly_rollups",
    "issued_adjustments",
    "issued_statements",
    "issued_sums",
    "issued_transfers",
    "learned_limits",
    "limits",
    "link_labels",
    "link_models",
    "links",
    "log_days",
    "log_quarantine",
    "negotiated_price_rules",
    "negotiated_prices",
    "own_cuts",
    "page_connections",
    "page_loads",
    "personal_logins",
    "price_books",
    "price_rules",
    "prices",
    "query_log",
    "quotes",
    "region_hours",
    "regions",
    "release_endpoints",
    "release_links",
    "releases",
    "rollup_marks",
    "saved_queries",
    "sealed_customer_usage",
    "sealed_months",
    "sealed_transfers",
    "sealed_usage",
    "sign_in_networks",
    "sla_partitions",
    "statement_issuers",
    "submissions",
    "surfaces",
    "tenants",
    "tier_decisions",
    "tier_names",
    "transfer_logs",
    "transfer_samples",
    "transfers",
    "usage_imports",
    "usage_marks",
    "usage_transfers",
    "user_identities",
    "user_sessions",
    "users",
    "warehouse_logins",
]
