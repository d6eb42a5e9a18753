"""What several benchmarks share: reports, load generators, stored databases and measures of processes."""
