"""Short flows by FLD_TCP, CUBIC and Reno on emulated paths; `__main__` is the benchmark.

Reading order: `origin` and `client` (programs at both ends), `wire` (packets that left the origin), `arena` (a path
with all of these), `cases`, `measuring`, `browser` and `pages` (web pages in a real Chromium).
"""
