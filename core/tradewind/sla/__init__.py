"""SLAs: their kinds, whether a transfer has met one, and what it costs."""
