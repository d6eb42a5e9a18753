"""Files, streams and I/O blocks as a phone would use them, and the energy that its battery would give by the models.

Reading order: `cells` (paths and data sets), `running` (one transfer), `pricing` (its modelled energy), `lessons` (what
the mobile paper learned, and whether it holds here), `reporting` (the results).
"""
