"""The domain of Tradewind: pure functions and values, no I/O, no clock, no randomness of its own."""
