"""Benchmarks of the service, its agent and the papers' claims, one module or package each."""
