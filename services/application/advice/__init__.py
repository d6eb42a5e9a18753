"""Advice on compression, connections and device profiles, from what transfers observed.

Begin with `compression`; `connections` and `devices` store what their pages and calls show.
Routers and pages import the use cases and their values.
"""
