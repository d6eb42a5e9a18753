"""Importers of transfer logs: one module or package for each format, and what they share to make records.

All formats read their lines through `log_text`, whose steps are in `reading`. A further format needs a module with an
`Importer`, its name in `importing` and its evidence in `detect`, and a description in `infra.reference.log_formats`;
if its records span lines, also in `history.log_parts`. Names of CSV columns and units are in `csv_logs.names`.
"""
