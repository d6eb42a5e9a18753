"""The use cases of the service: one package a concept, without I/O of their own.

Begin with `recommend.lookup` (a request's way to its answer) or `models.refresh` (how models are learned).
Interfaces, persistence and workers import use cases and values from here; this package imports only `tradewind`.
"""
