"""The importer of rclone's logs, as JSON and as text: messages, the runs that they belong to, and records of runs.

Begin at `records`.
"""
