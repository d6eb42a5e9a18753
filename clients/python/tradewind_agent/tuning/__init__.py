"""Tuning while a copy runs: each tick takes a sample, gets a decision from the service or this host, and retunes.

Begin with `loop` (`Tuning`). `Sampling` makes the samples, `HeartbeatExchange` sends them to the service,
`LocalController` decides while no service answers, and a `Tick` is a sample with its decision. `copy.tuning` builds it.
"""
