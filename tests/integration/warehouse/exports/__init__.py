"""Logs as Parquet: what is written, what fails, and what readers make of it."""
