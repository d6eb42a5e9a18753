"""The checks of the papers' claims by measured transfers, and the transfers themselves."""
