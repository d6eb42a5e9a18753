"""What several rooms share: the unit of work, the clock, messages after a commit, events, audit, slots.

Begin with `unit_of_work` (the port to all repositories) and `ports`.
Every room, and everything above the application, may import from here.
"""
