"""The benchmark of response surfaces."""
