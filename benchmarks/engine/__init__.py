"""What a transfer costs this machine: our engine and common tools on the loopback, where nothing waits for a network.

`tools` (their command lines), `servers` (nginx and ours), `workload` (files), `running` (one measured run), `start`
(the first request and the memory of a long listing).
"""
