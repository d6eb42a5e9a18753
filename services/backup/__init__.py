"""Backups of the database, and the way back: PostgreSQL's own tools, put in order.

A folder of backups has whole copies of the cluster in ``base`` and the log of everything written since in ``wal``; from
both the database is brought back as it was at any moment after the oldest copy.
"""
