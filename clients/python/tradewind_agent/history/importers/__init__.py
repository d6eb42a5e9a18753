"""Importers of transfer logs: one module for each format, and what they share to make records."""
