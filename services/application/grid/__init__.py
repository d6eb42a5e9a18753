"""Electricity regions: their hourly prices and carbon intensities, and what a transfer needs to know of them.

Begin with `regions`. It may be imported by the adapters; it imports `shared`.
"""
