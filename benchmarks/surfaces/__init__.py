"""The benchmark of response surfaces against gradient boosting, on real transfer logs."""
