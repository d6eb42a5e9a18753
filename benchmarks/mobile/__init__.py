"""Files, streams and I/O blocks as a phone would use them, and what that would take of its battery by the models.

Reading order: `cells` (paths and data sets), `running` (one transfer), `pricing` (its modelled energy), `lessons` (what
the mobile paper learned, and whether it holds here), `reporting` (what is written of it).
"""
