"""Tiered clustering of a link's logs, in one pass and in bounded memory."""
