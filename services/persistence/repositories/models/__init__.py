"""Repositories of releases, their models, SLA tiers, and the decisions that wait for a provider."""
