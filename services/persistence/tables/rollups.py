"""Rollups of logs by day and hour, of finished transfers by day, and the marks of days whose rows have changed."""

from sqlalchemy import BigInteger, Column, Date, Identity, Index, SmallInteger, Table, Uuid

from services.application.monitoring.overview import MeteredEnds
from services.persistence.tables.metadata import METADATA, build_instant, build_quantity, build_tenant_column


def _count(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


daily_rollups = Table(
    "daily_rollups",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("day", Date, primary_key=True),
    Column("link_id", Uuid, primary_key=True),
    _count("transfers"),
    _count("succeeded"),
    _count("bytes_moved"),
    build_quantity("duration_s", nullable=False),
    build_quantity("measured_energy_j", nullable=False),
    build_quantity("modelled_energy_j", nullable=False),
    _count("metered_bytes"),
    _count("ended"),
    _count("kept"),
    _count("missed"),
    _count("unpromised"),
    _count("tuned_transfers"),
    _count("tuned_bytes"),
    build_quantity("tuned_s", nullable=False),
    build_quantity("tuned_energy_j", nullable=False),
    _count("tuned_metered_bytes"),
    *(_count(f"metered_{ends}") for ends in MeteredEnds),
    *(
        column
        for ends in MeteredEnds
        for column in (build_quantity(f"tuned_{ends}_j", nullable=False), _count(f"tuned_{ends}_bytes"))
    ),
    build_instant("rolled_up_at"),
    Index("daily_rollups_link_id_day_idx", "link_id", "day"),
)

# Of the latest two days.
hourly_rollups = Table(
    "hourly_rollups",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("day", Date, primary_key=True),
    Column("hour", SmallInteger, primary_key=True, autoincrement=False),
    Column("link_id", Uuid, primary_key=True),
    _count("transfers"),
    _count("bytes_moved"),
    build_quantity("measured_energy_j", nullable=False),
    build_quantity("modelled_energy_j", nullable=False),
    _count("metered_bytes"),
)

rollup_marks = Table(
    "rollup_marks",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant_id", Uuid, nullable=False),
    Column("day", Date, nullable=False),
    Column("link_id", Uuid, nullable=False),
    Index("rollup_marks_tenant_id_day_link_id_idx", "tenant_id", "day", "link_id"),
)
