"""Models: how a release is built from logs, judged, published, compared and removed; tiers and their boundaries.

Begin with `refresh`; `learned_model` has the stored values, `custom_tiers` and `tier_decisions` what providers change.
Other packages import `learned_model` and `sla_tiers`; routers, pages and workers import the use cases.
"""
