"""The benchmark of the advice on compression, against every candidate setting."""
