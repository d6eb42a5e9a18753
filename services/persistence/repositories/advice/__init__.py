"""Repositories of what advice is based on: codec observations, device profiles and page loads."""
