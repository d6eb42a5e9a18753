"""Repositories: one class for each kind of row, within the transaction and the tenant of a unit of work.

Begin with `transfers.journal`; `services.persistence.unit_of_work` is the only importer.
"""
