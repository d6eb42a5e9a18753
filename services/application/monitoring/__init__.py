"""Monitoring: the state of the service for operators, and what tuning gained for users.

Begin with `watch_service` (state) and `metrics` (the overview of the last days, with values in `overview`).
Pages and the metrics endpoint import from here.
"""
