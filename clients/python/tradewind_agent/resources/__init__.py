"""Limit the cores, processor frequency, memory, disk and network rate of a transfer, as far as the host permits it.

Begin with `limits` (the requested limits), `limiter` (which applies them) and `applied` (the result). One module a
resource follows: `cores`, `memory`, `disk`, `frequency`, `network`. `control_groups` is what some of them need, and
`ledger` undoes the changes of a killed agent.
"""
