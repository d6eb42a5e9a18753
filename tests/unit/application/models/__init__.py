"""Tiers and what a new model does to them."""
