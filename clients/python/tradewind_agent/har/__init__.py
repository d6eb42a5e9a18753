"""Browsers' logs (HAR): read them from disk, describe the connections of a page, and upload them."""
