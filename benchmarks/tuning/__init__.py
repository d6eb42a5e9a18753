"""The online controller on real TCP: paths that step, agreements under cross traffic, fairness; beside other tuners.

Reading order: `cases` (what is run), `task`, `tuners` and `driver` (one tuned transfer, a process of its own),
`transfers` (several on a testbed), `history` and `oracle` (what was learned before, what could be reached), `figures`,
`case_run`, `summary`.
"""
