"""Repositories of tenants, users, API keys, database accounts, sign-in networks and the audit log."""
