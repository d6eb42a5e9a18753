"""The other way round: programs that send the files of a client, and servers that take them.

Reading order: `origins` (servers), `tools` (the programs). Both may be imported. Nothing that downloads depends on
them, so that what was measured of downloads stays valid when they change.
"""
