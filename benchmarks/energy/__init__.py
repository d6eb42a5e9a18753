"""How much energy the recommended settings save on real logs with cores and frequency, on held-out rows."""
