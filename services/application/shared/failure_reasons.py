"""Format reasons of failures for users: one bounded line without the secrets of addresses and settings."""

from tradewind.failure import format_sentence

LONGEST_REASON = 500


def format_reason(text: str) -> str:
    """Return ``text`` as one line of at most ``LONGEST_REASON`` characters, without secrets."""
    return format_sentence(text, LONGEST_REASON)
