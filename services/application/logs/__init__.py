"""Logs of transfers: upload, quarantine, daily sums, export as Parquet, and retention.

Begin with `ingest`; rows that it rejects go on in `correct_rows`, stored days in `roll_up`, `export` and `retain`.
Other packages import `ports`, `ingest.store_batch` and `lines`; routers, pages and workers import the use cases.
"""
