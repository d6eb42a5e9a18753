"""Which migrations may land beside a service in use, judged by their SQL."""

import pytest

from infra.checks.migration_steps import LAID, find_violations
from services.persistence import migrate
from services.persistence.schema import list_known_revisions

HARMLESS = {
    "a new table with its index": (
        "expand",
        "CREATE TABLE t (id bigint PRIMARY KEY, a text NOT NULL); CREATE INDEX t_a_idx ON t (a)",
    ),
    "a column without a value": ("expand", "ALTER TABLE links ADD COLUMN colour text"),
    "a column with a constant": ("expand", "ALTER TABLE links ADD COLUMN seen bigint NOT NULL DEFAULT 0"),
    "an index beside writers": ("expand", "COMMIT; CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON links (mover); BEGIN"),
    "a constraint for new rows": ("expand", "ALTER TABLE links ADD CONSTRAINT c CHECK (mover <> '') NOT VALID"),
    "a function replaced": (
        "expand",
        "CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE sql AS $$ DELETE FROM t; DROP VIEW v $$",
    ),
    "rows in portions": ("backfill", "UPDATE links SET colour = 'red' WHERE id IN (SELECT id FROM links LIMIT 5000)"),
    "a column that nobody reads": ("contract", "ALTER TABLE links DROP COLUMN colour"),
    "a function that nobody calls": ("contract", "DROP FUNCTION find_colour(uuid)"),
    "a name that nobody uses": ("contract", "ALTER TABLE links RENAME COLUMN colour TO shade"),
}
REFUSED = {
    "a column that old code does not fill": (
        "expand",
        "ALTER TABLE links ADD COLUMN colour text NOT NULL",
        "adding-required-field",
    ),
    "an index that stops writers": ("expand", "CREATE INDEX i ON links (mover)", "require-concurrent-index-creation"),
    "an index that stops readers": ("contract", "DROP INDEX links_idx", "require-concurrent-index-deletion"),
    "a rename": ("expand", "ALTER TABLE links RENAME COLUMN mover TO tool", "renaming-column"),
    "a column dropped": ("expand", "ALTER TABLE links DROP COLUMN mover", "ban-drop-column"),
    "a table dropped": ("expand", "DROP TABLE links", "ban-drop-table"),
    "a function dropped": ("expand", "DROP FUNCTION find_tenant(text)", "ban-drop-function"),
    "a view dropped": ("expand", "DROP VIEW warehouse.quotes", "ban-drop-view"),
    "another type": ("expand", "ALTER TABLE links ALTER COLUMN mover TYPE bigint", "changing-column-type"),
    "a check of all rows": (
        "expand",
        "ALTER TABLE links ADD CONSTRAINT c CHECK (mover <> '')",
        "constraint-missing-not-valid",
    ),
    "rows changed under locks": ("expand", "UPDATE links SET colour = 'red'", "which needs a step of its own"),
    "a table changed beside rows": ("backfill", "ALTER TABLE links ADD COLUMN x text", "'expand' or 'contract'"),
    "no step": (None, "ALTER TABLE links ADD COLUMN colour text", "must be one of 'expand', 'backfill', 'contract'"),
}


def as_migration(sql: str) -> str:
    """As Alembic writes it."""
    own = "UPDATE alembic_version SET version_num='b' WHERE alembic_version.version_num='a'"
    return f"BEGIN;\n\n{sql};\n\n{own};\nCOMMIT;\n"


def make_step(step: str | None) -> migrate.Step:
    return migrate.Step(step, LAID if step == "contract" else None)


@pytest.mark.parametrize(("step", "sql"), HARMLESS.values(), ids=HARMLESS)
def test_harmless_migration_steps_are_permitted(step, sql):
    assert list(find_violations(as_migration(sql), make_step(step))) == []


@pytest.mark.parametrize(("step", "sql", "reason"), REFUSED.values(), ids=REFUSED)
def test_migration_step_that_stops_a_service_is_refused(step, sql, reason):
    found = list(find_violations(as_migration(sql), make_step(step)))
    assert any(reason in each for each in found), found


def test_a_contract_names_the_migration_from_which_on_code_does_without():
    assert any(
        "the migration from which on" in each
        for each in find_violations("DROP TABLE t;", migrate.Step("contract", None))
    )


def test_the_sql_of_a_migration_is_read_without_a_database():
    assert "CREATE FUNCTION service_state()" in migrate.render_sql(LAID)
    assert LAID in migrate.list_steps()


def test_names_of_migration_files_sort_in_the_order_of_their_steps():
    assert list_known_revisions() == tuple(migrate.list_steps())
