"""PostgreSQL and Valkey as child processes, for an installation without servers of its own."""
