"""SLA tiers: ranges of targets with the setting that serves each, and the choice of a setting from a table."""
