"""Names in the folder of a service with embedded servers (`Settings.data_folder`), for all who look there."""

POSTGRES = "postgres"
"""Folder of the database's cluster."""

VALKEY = "valkey"

AGENT_KEY = "agent-key"
ADMIN_PASSWORD = "admin-password"  # noqa: S105 -- a file's name
"""The first key and the first login, as long as they are to be shown."""
