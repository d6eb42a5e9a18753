"""Whether a month of quotes may go is asked of partitions of quotes alone, in any order of joining.

The month is a part of a partition's name. Where Postgres reads all of `pg_class` first, it computed one of every name
in it, and a name such as `pg_toast_16384` stopped the drop.
"""

from importlib import import_module

from alembic import op

revision = "2026_11_30_1130"
down_revision = "2026_11_29_0840"
branch_labels = None
depends_on = None
step = "expand"

COMPARED = import_module("migrations.versions.2026_11_29_0800_sealed_usage_is_compared")
BEFORE = COMPARED.BEFORE.replace(COMPARED.LAST, f"        PERFORM refuse_changed_usage(asked);\n{COMPARED.LAST}")
MONTH = "to_date(right(p.relname, 7), 'YYYY_MM')"
MONTH_OF_QUOTES = rf"CASE WHEN p.relname ~ '^quotes_\d{{4}}_\d\d$' THEN {MONTH} END"


def upgrade() -> None:
    op.execute(BEFORE.replace(MONTH, MONTH_OF_QUOTES))


def downgrade() -> None:
    op.execute(BEFORE)
