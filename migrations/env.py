"""Runs the versions on the connection that services.persistence.migrate hands over."""

from alembic import context

from services.persistence.tables import METADATA

if context.is_offline_mode():
    context.configure(dialect_name="postgresql", transaction_per_migration=True)
else:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=METADATA,
        transaction_per_migration=True,
    )
with context.begin_transaction():
    context.run_migrations()
