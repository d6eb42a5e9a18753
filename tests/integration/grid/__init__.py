"""Electricity regions: uploaded, shown, and what copies and the warehouse make of them."""
