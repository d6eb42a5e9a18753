"""Energy and power of a transfer: models of a host, measured samples, and the power of both ends."""
