"""Plans for paths without a model: closed-form rules, a prior, and what neighbouring links add to it."""
