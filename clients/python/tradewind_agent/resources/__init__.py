"""Resources of a transfer: cores, processor frequency, memory, disk and network rate, held where the host permits it.

Reading order: `limits` (what is wanted), `limiter` (the port), `applied` (what came of it), `cores`, `memory`, `disk`,
`frequency`, `network` (one resource each), `control_groups` (what some of them need), `ledger` (how a killed agent's
changes are undone).
"""
