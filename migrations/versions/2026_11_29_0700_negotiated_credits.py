"""The credit of an SLA is the one that was negotiated with its customer, as on the customer's statement."""

from alembic import op

from migrations.billing_views import SLAS_WITH_NEGOTIATED_CREDITS
from migrations.credit_views import SLAS_WITH_CREDITS
from migrations.reader_isolation import put_behind_function
from migrations.warehouse_views import replaced

revision = "2026_11_29_0700"
down_revision = "2026_11_29_0650"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for statement in replaced(SLAS_WITH_NEGOTIATED_CREDITS):
        op.execute(statement)
    op.execute(put_behind_function(SLAS_WITH_NEGOTIATED_CREDITS.name))


def downgrade() -> None:
    for statement in replaced(SLAS_WITH_CREDITS):
        op.execute(statement)
    op.execute(put_behind_function(SLAS_WITH_CREDITS.name))
