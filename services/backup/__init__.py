"""Back up the database and restore it, with PostgreSQL's own tools.

A folder of backups has complete copies of the cluster in ``base`` and all log written since in ``wal``; from both, the
database is restored as it was at any moment after the oldest copy.

Begin with `folder`; the command line is in ``__main__``.
"""
