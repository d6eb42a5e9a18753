"""The lines of a plan are bounded where they are made: one of them may hold any constant of the statement.

The function runs what its caller may run: one statement with rows, as a cursor takes it, and with the caller's rights.
"""

from alembic import op

from migrations.row_level_security import APP, READER

revision = "2026_11_28_2020"
down_revision = "2026_11_28_2010"
branch_labels = None
depends_on = None
step = "expand"

SIGNATURE = "warehouse.read_plan(text, bigint, bigint)"

READ_PLAN = """
    CREATE FUNCTION warehouse.read_plan(explained text, most_bytes bigint, most_lines bigint) RETURNS SETOF text
    LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
        found record;
        line text;
        bytes bigint := 0;
        lines bigint := 0;
    BEGIN
        FOR found IN EXECUTE explained LOOP
            line := found."QUERY PLAN"::text;
            bytes := bytes + pg_catalog.octet_length(line);
            lines := lines + 1;
            IF bytes > most_bytes THEN
                RAISE EXCEPTION 'the plan has more than % bytes, the limit of a row', most_bytes
                    USING ERRCODE = 'program_limit_exceeded';
            END IF;
            IF lines > most_lines THEN
                RAISE EXCEPTION 'the plan has more than % lines, the limit', most_lines
                    USING ERRCODE = 'program_limit_exceeded';
            END IF;
            RETURN NEXT line;
        END LOOP;
    END
    $$
"""


def upgrade() -> None:
    op.execute(READ_PLAN)
    op.execute(f"REVOKE ALL ON FUNCTION {SIGNATURE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {SIGNATURE} TO {READER}, {APP}")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {SIGNATURE}")
