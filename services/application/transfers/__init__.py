"""Live transfers: heartbeats and decisions, sessions, the journal, and the end of a transfer.

Begin with `tune.Tuner`, which answers heartbeats; `complete` ends a transfer, `heartbeat_consumer` stores samples.
Other packages import `sessions` and `owners`; routers and workers import the use cases.
"""
