"""Importers of transfer logs: one module for each format, and what they share to make records.

A further format needs a module with an `Importer`, its name in `importing` and `detect`, and a description in
`infra.reference.log_formats`; if its records span lines, also in `history.watching`.
"""
