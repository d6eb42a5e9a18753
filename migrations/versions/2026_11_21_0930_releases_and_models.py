"""Releases, and what was learned of each link: clusters, surfaces, SLA partitions; curves of known load."""

from alembic import op

from migrations.row_level_security import let_owner, protect, publish_function

revision = "2026_11_21_0930"
down_revision = "2026_11_21_0920"
branch_labels = None
depends_on = None

TABLES = (
    "releases",
    "current_releases",
    "link_models",
    "release_links",
    "release_endpoints",
    "clusters",
    "surfaces",
    "sla_partitions",
    "endpoint_curves",
)


def upgrade() -> None:
    op.execute(RELEASES)
    op.execute("CREATE UNIQUE INDEX releases_one_building_idx ON releases (tenant_id) WHERE state = 'building'")
    op.execute("CREATE INDEX releases_tenant_id_id_idx ON releases (tenant_id, id)")
    op.execute("CREATE INDEX releases_parent_id_idx ON releases (parent_id)")
    op.execute(CURRENT_RELEASES)
    op.execute("CREATE INDEX current_releases_release_id_idx ON current_releases (release_id)")
    op.execute(LINK_MODELS)
    op.execute("CREATE INDEX link_models_link_id_idx ON link_models (link_id)")
    op.execute(RELEASE_LINKS)
    op.execute(RELEASE_ENDPOINTS)
    op.execute("CREATE INDEX release_links_link_model_id_idx ON release_links (link_model_id)")
    op.execute("CREATE INDEX release_links_pending_idx ON release_links (release_id, link_id) WHERE state = 'pending'")
    op.execute(CLUSTERS)
    op.execute(SURFACES)
    op.execute(SLA_PARTITIONS)
    op.execute(ENDPOINT_CURVES)
    for table in TABLES:
        protect(table)
    let_owner("releases", "SELECT")
    op.execute(
        """
        CREATE FUNCTION tenants_with_building_release() RETURNS SETOF uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
        AS $$ SELECT tenant_id FROM releases WHERE state = 'building' $$
        """
    )
    publish_function("tenants_with_building_release()")
    op.execute(TENANTS_WITH_OLD_RELEASES)
    publish_function("tenants_with_old_releases(integer)")


def downgrade() -> None:
    op.execute("DROP FUNCTION tenants_with_old_releases(integer)")
    op.execute("DROP FUNCTION tenants_with_building_release()")
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table}")


# Those that can be returned to and those that cannot are counted apart, as the repository of old releases does.
TENANTS_WITH_OLD_RELEASES = """
    CREATE FUNCTION tenants_with_old_releases(kept integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$
        SELECT tenant_id FROM releases WHERE state = 'expired'
        UNION
        SELECT tenant_id FROM releases WHERE state NOT IN ('building', 'expired')
         GROUP BY tenant_id, state IN ('published', 'superseded') HAVING count(*) > kept
    $$
"""

RELEASES = """
    CREATE TABLE releases (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        state text NOT NULL
            CHECK (state IN ('building', 'published', 'rejected', 'superseded', 'rolled_back', 'expired')),
        created_at timestamptz NOT NULL,
        published_at timestamptz,
        parent_id bigint REFERENCES releases ON DELETE SET NULL,
        gate jsonb NOT NULL DEFAULT '{}'
    )
"""

CURRENT_RELEASES = """
    CREATE TABLE current_releases (
        tenant_id uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
        release_id bigint NOT NULL REFERENCES releases ON DELETE CASCADE
    )
"""

LINK_MODELS = """
    CREATE TABLE link_models (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        link_id uuid NOT NULL REFERENCES links ON DELETE CASCADE,
        fitted_at timestamptz NOT NULL,
        rows bigint NOT NULL,
        bandwidth_bps double precision,
        rtt_s double precision,
        min_rtt_s double precision,
        loss_rate double precision,
        buffer_bytes double precision,
        load_median double precision NOT NULL,
        unknown_bps double precision,
        failures text[] NOT NULL
    )
"""

RELEASE_LINKS = """
    CREATE TABLE release_links (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        release_id bigint NOT NULL REFERENCES releases ON DELETE CASCADE,
        link_id uuid NOT NULL REFERENCES links ON DELETE CASCADE,
        link_model_id uuid REFERENCES link_models ON DELETE CASCADE,
        state text NOT NULL CHECK (state IN ('pending', 'done', 'failed')),
        reason text,
        verdict jsonb,
        logs_version bigint NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        started_at timestamptz,
        finished_at timestamptz,
        PRIMARY KEY (release_id, link_id)
    )
"""

RELEASE_ENDPOINTS = """
    CREATE TABLE release_endpoints (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        release_id bigint NOT NULL REFERENCES releases ON DELETE CASCADE,
        endpoint_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
        PRIMARY KEY (release_id, endpoint_id)
    )
"""

CLUSTERS = """
    CREATE TABLE clusters (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        link_model_id uuid NOT NULL REFERENCES link_models ON DELETE CASCADE,
        ordinal smallint NOT NULL,
        dataset_tier smallint NOT NULL,
        load_tier smallint NOT NULL,
        log2_mean_file_bytes double precision NOT NULL,
        log2_file_count double precision NOT NULL,
        load double precision NOT NULL,
        rows bigint NOT NULL,
        accuracy jsonb NOT NULL,
        queueing_delay_p90_s jsonb NOT NULL,
        loss_baseline double precision,
        UNIQUE (link_model_id, ordinal)
    )
"""

SURFACES = """
    CREATE TABLE surfaces (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        cluster_id uuid PRIMARY KEY REFERENCES clusters ON DELETE CASCADE,
        axes jsonb NOT NULL,
        log_throughput_mean double precision[] NOT NULL,
        log_throughput_sd double precision[] NOT NULL,
        log_power_mean double precision[],
        log_power_sd double precision[],
        log_covariance double precision[],
        certified boolean[] NOT NULL,
        observed jsonb NOT NULL,
        base_power_w double precision,
        load_effect jsonb
    )
"""

SLA_PARTITIONS = """
    CREATE TABLE sla_partitions (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        cluster_id uuid NOT NULL REFERENCES clusters ON DELETE CASCADE,
        ordinal smallint NOT NULL,
        kind text NOT NULL,
        confidence double precision NOT NULL,
        energy_basis text NOT NULL,
        lower double precision NOT NULL,
        upper double precision NOT NULL,
        closed boolean NOT NULL,
        parameters jsonb NOT NULL,
        predicted jsonb NOT NULL,
        probability double precision NOT NULL,
        regret double precision NOT NULL,
        tier_id uuid NOT NULL,
        needs_review boolean NOT NULL,
        UNIQUE (cluster_id, ordinal)
    )
"""

ENDPOINT_CURVES = """
    CREATE TABLE endpoint_curves (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        endpoint_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
        month timestamptz NOT NULL,
        rows bigint NOT NULL,
        ends_at timestamptz NOT NULL,
        times_s bytea STORAGE EXTERNAL NOT NULL,
        rate_steps bytea STORAGE EXTERNAL NOT NULL,
        PRIMARY KEY (endpoint_id, month)
    )
"""
