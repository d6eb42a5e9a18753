"""Analysts' SQL: one statement of a tenant, checked, run, and streamed in constant memory."""
