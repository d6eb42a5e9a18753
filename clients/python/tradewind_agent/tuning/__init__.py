"""Tuning while a copy runs: a sample a tick, a decision of the service or of this host alone, the engine retuned.

`Tuning` is the loop; `Sampling` makes the samples, `Correspondence` asks the service beside the transfer,
`LoneController` decides where nobody answers, a `Tick` is what was seen and decided.
"""
