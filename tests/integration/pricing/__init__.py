"""Prices of many tiers at once: rules, files and labels, by pages and API."""
