"""The online controller and other tuners on real TCP: paths that step, SLAs under cross traffic, fairness.

Reading order: `cases` (what is run), `task`, `tuners` and `driver` (one tuned transfer, a process of its own),
`transfers` (several on a testbed), `history` and `oracle` (what was learned before, what could be reached), `metrics`,
`case_run`, `summary`.
"""
