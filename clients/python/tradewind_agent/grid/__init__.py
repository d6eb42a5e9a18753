"""A copy that starts when electricity is cheap or clean, and what its energy cost and emitted.

Begin with `start_planner`; `waiting` waits and plans again, `report` is the part of a copy's report. The command `copy`
imports them.
"""
