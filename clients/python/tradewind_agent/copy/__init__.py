"""Copies of files between this host and an HTTP server: list, plan, move, tune, report.

Begin with `run` (`copy_files`, `prepare_listed`, `run`), then `listing`, `plan`, `moving` and `report`.
`tradewind_agent` exports `copy_files`, `CopyOptions` and `CopyReport`; wrapped and packed copies import the rest.
"""
