"""The benchmark of the papers' claims."""
