"""The benchmark of a thousand simulated agents on the complete service."""
