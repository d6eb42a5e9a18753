"""${message}"""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}
step = "expand"  # or "backfill", "contract": see docs/decisions/0020-expand-backfill-contract.md


def upgrade() -> None:
    ${upgrades if upgrades else "op.execute()"}


def downgrade() -> None:
    ${downgrades if downgrades else "op.execute()"}
