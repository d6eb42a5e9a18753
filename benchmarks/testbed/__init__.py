"""A wide-area path on one machine for real programs with real TCP: namespaces, an emulated link, origins, peers.

Reading order: `path_spec` (what a path is), `testbed` (sets it up and takes it down), `namespaces` and `emulator` (its
parts), `leftovers` (after a crash), `schedule` and `traces` (paths that change), `cross_traffic`, `origins` (servers),
`data_sets` (the files), `measured_run` and `peers` (the programs that move them), `uploads` (the other way round). All
of them may be imported.
"""
