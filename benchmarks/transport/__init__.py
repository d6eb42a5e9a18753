"""Short flows by FLD_TCP beside CUBIC and Reno on emulated paths; `__main__` is the benchmark.

Reading order: `origin` and `client` (programs at both ends), `wire` (what left the origin, packet by packet), `arena`
(a path with all of these), `cases`, `measuring`, `browser` and `pages` (web pages in a real Chromium).
"""
