"""Tuning while a copy runs: a sample a tick, a decision of the service or of this host alone, the engine retuned.

`Tuning` is the loop; `Sampling` makes the samples, `HeartbeatExchange` asks the service beside the transfer,
`LocalController` decides where nobody answers, a `Tick` is what was seen and decided.
"""
