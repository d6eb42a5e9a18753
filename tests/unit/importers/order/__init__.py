"""Logs of one run after the other, of several at once, and of the newest line first."""
