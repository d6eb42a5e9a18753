"""Ours, today's tools and the best static setting over an emulated wide-area path, with real TCP.

Reading order: `cells` (what is compared), `arena` (one cell's testbed), `lessons` and `learned_service` (what ours has
learned before), `search` (the oracle's lattice), `runs` (what was measured so far, so that an interrupted table goes
on), `cell_run` (a cell from start to end), `cell_row`, `duration`, `summary`.
"""
