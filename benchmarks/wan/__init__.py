"""Our engine, today's tools and the best static setting over an emulated wide-area path, with real TCP.

Reading order: `cells` (what is compared), `arena` (one cell's testbed), `lessons` and `learned_service` (what our
service has learned before), `search` (the oracle's lattice), `runs` (stored runs, from which an interrupted table
continues), `cell_run` (a cell from start to end), `cell_row`, `duration`, `summary`.
"""
