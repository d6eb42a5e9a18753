"""Repositories of uploaded logs: receipts, daily rollups, known load curves, exports and retention."""
