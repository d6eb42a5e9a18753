"""The plan of all benchmarks: what each measures, which records are stale, and whether a quick form became worse."""
