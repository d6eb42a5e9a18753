"""Sources for dbt: the views of the warehouse with their columns, from the comments that a migrated database holds."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from infra.reference.warehouse import read_migrated_schema
from services.application.warehouse.query import SchemaColumn, SchemaView

HEAD = """\
# Written by `python -m infra.reference`; do not edit by hand.
# Copy it into the models of a dbt project (dbt-postgres), and select from {{ source('tradewind', 'whole_transfers') }}.
"""
KEYS: Mapping[str, str] = {
    "batches": "batch_id",
    "clusters": "cluster_id",
    "endpoints": "endpoint_id",
    "link_regions": "link_id",
    "links": "link_id",
    "partitions": "partition_id",
    "releases": "release_id",
    "surfaces": "cluster_id",
    "tiers": "tier_id",
    "transfer_slas": "transfer_id",
    "transfers": "id",
    "whole_transfers": "id",
    "transfer_chunks": "id",
}
"""The column that is unique in a view, which `dbt test` checks."""


def render_dbt_sources() -> str:
    """Return the file of sources."""
    source = {
        "name": "tradewind",
        "schema": "warehouse",
        "description": "Transfers, heartbeats, prices and models of one tenant: the one whose database login is used.",
        "tables": [_describe_view(view) for view in read_migrated_schema()],
    }
    document = yaml.safe_dump({"version": 2, "sources": [source]}, sort_keys=False, allow_unicode=True, width=120)
    return f"{HEAD}{document}"


def _describe_view(view: SchemaView) -> Mapping[str, Any]:
    return {"name": view.name, "description": view.comment, "columns": list(_describe_columns(view))}


def _describe_columns(view: SchemaView) -> Iterable[Mapping[str, Any]]:
    for column in view.columns:
        yield {
            "name": column.name,
            "data_type": column.type,
            "description": column.comment,
            **_list_tests(view, column),
        }


def _list_tests(view: SchemaView, column: SchemaColumn) -> Mapping[str, Any]:
    return {"data_tests": ["unique", "not_null"]} if KEYS.get(view.name) == column.name else {}
