"""Pages for accounts: sign-in, users, API keys, and the audit log."""
