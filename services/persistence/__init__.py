"""PostgreSQL: the store with its units of work, migrations, roles, and exports of rows as Parquet."""
