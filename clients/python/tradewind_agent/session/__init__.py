"""What every transfer needs, whoever moves the bytes: a plan, a share of the path, meters, records and a spool.

Begin with `planning` (which parameters), then `metering`, `records` and `logbook` (what is logged, and where it goes).
The engine's copies, wrapped tools and packed copies import from every module here.
"""
